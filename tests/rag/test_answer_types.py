from __future__ import annotations

import pytest

from rag.answer_types import asked, gives, same_asked


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
    assert gives(given, asked(question))
    assert not gives(lacking, asked(question))


def test_most_questions_want_nothing_in_particular() -> None:
    assert asked("Can I bring my dog?") == ()
    assert not gives("25 dogs", ())


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
    assert same_asked(question, heading) is same
