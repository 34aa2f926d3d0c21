from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.conversation import dependence, with_missing_words
from rag.types import Turn

LEAVE = (
    Turn("user", "how much annual leave do I earn in my first year"),
    Turn("assistant", "You earn four hours each pay period, see the Leave Portal."),
)

LEANING = """
and after 15 years?
what about contractors?
how about part timers
does that cap hold for sick days
is it paid out
can they carry them over
who approves it
cost?
the same for interns?
ok and in the second year
where do I see those
why not
""".strip().splitlines()

ALONE = """
how do I connect to the corporate vpn from a hotel
is it possible to work from Spain for two months without approval
which managers who are abroad must approve hiring of freelancers
our printer on floor two jams every morning, how do I get it repaired
which laptop models can new developers choose this year
does IT support Linux laptops for developers
""".strip().splitlines()


@pytest.mark.parametrize("text", LEANING)
def test_a_follow_up_leans_on_the_conversation(text: str) -> None:
    assert dependence(text, LEAVE) == "leaning"


@pytest.mark.parametrize("text", ALONE)
def test_a_new_question_stands_alone(text: str) -> None:
    assert dependence(text, LEAVE) == "alone"


@pytest.mark.parametrize(
    "text", ["do I need a sick note on day one", "is one week of parental leave paid"]
)
def test_a_number_one_points_back_at_nothing(text: str) -> None:
    assert dependence(text, LEAVE) != "leaning"


@pytest.mark.parametrize("text", LEANING)
def test_with_no_conversation_there_is_nothing_to_lean_on(text: str) -> None:
    assert dependence(text, ()) == "alone"


def test_a_follow_up_is_given_the_words_it_leaves_out() -> None:
    combined = with_missing_words("and after 15 years?", LEAVE)
    assert combined.startswith("and after 15 years? (")
    assert {"annual", "leave"} <= set(combined.strip(")").split("(")[1].split())


def test_what_the_follow_up_says_itself_is_not_repeated() -> None:
    assert "leave" not in with_missing_words("and sick leave?", LEAVE).partition("(")[2].split()


def test_a_name_in_the_last_answer_is_what_they_may_stand_for() -> None:
    history = (
        Turn("user", "how do I book a train"),
        Turn("assistant", "You can book through AdTrav or by phone."),
    )
    assert "AdTrav" in with_missing_words("what's their number", history)


def test_while_questions_lean_on_each_other_the_first_one_says_what_it_is_about() -> None:
    history = (
        Turn("user", "how do I renew my parking permit"),
        Turn("assistant", "Online."),
        Turn("user", "what does it cost"),
        Turn("assistant", "Nothing."),
    )
    assert {"parking", "permit"} <= set(
        with_missing_words("and for two?", history).strip(")").split("(")[1].split()
    )


def test_an_answer_alone_gives_no_topic() -> None:
    assert with_missing_words("and that?", (Turn("assistant", "Hello."),)) == "and that?"


@given(st.text(), st.lists(st.builds(Turn, st.sampled_from(["user", "assistant"]), st.text())))
def test_any_conversation_gives_a_question_that_begins_with_the_message(
    text: str, turns: list[Turn]
) -> None:
    history = tuple(turns)
    assert dependence(text, history) in {"alone", "unsure", "leaning"}
    combined = with_missing_words(text, history)
    assert combined == with_missing_words(text, history)
