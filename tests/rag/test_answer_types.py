from __future__ import annotations

import pytest

from rag.answer.quote_candidates import asks_for_same_type, expected_answer_types, has_answer_type


@pytest.mark.parametrize(
    ("question", "given", "lacking"),
    [
        ("How many days do I get?", "You get 25 days.", "You get days off."),
        ("When is payday?", "On the last Friday of the month.", "Payday is a good thing."),
        ("Who do I ask?", "Write to desk@quillmoor.example.", "Somebody knows it."),
        ("Where is it?", "See https://quillmoor.example/x", "it is somewhere"),
    ],
)
def test_a_question_wants_a_kind_of_thing(question: str, given: str, lacking: str) -> None:
    assert has_answer_type(given, expected_answer_types(question))
    assert not has_answer_type(lacking, expected_answer_types(question))


def test_most_questions_want_nothing_in_particular() -> None:
    assert expected_answer_types("Can I bring my dog?") == ()
    assert not has_answer_type("25 dogs", ())


@pytest.mark.parametrize(
    ("question", "heading", "same"),
    [
        ("How many days do I get?", "How much", True),
        ("Who do I ask?", "Contacts and e-mail", True),
        ("How many days do I get?", "Ask for it", False),
        ("Can I bring my dog?", "Dogs", False),
    ],
)
def test_a_heading_may_ask_for_the_same(question: str, heading: str, *, same: bool) -> None:
    assert asks_for_same_type(question, heading) is same
