"""Test what experts and askers see of a case's history."""

from __future__ import annotations

from bot.domain.cases import NO_DETAIL, ActDetail, Actor, CaseStep, Step
from bot.domain.messages import InteractionId
from bot.escalations.history import (
    as_corrected,
    for_asker,
    own_reply,
    standing_replies,
    standing_reply,
)
from tests.fakes.builders import NOON

ANNA = Actor("anna@acme.example", "Anna Lopez", "expert")
BEN = Actor("ben@acme.example", "Ben Okafor", "expert")


def step(number: int, what: Step, text: str = "", detail: ActDetail = NO_DETAIL) -> CaseStep:
    return CaseStep(InteractionId("i1"), number, what, ANNA, text, NOON, detail)


REPLIED = (step(1, "open"), step(2, "reply", "Blue."), step(3, "reply", "Room 3."))
AMENDED = (*REPLIED, step(4, "amend", "Red.", ActDetail(about=2)))
RETRACTED = (*AMENDED, step(5, "retract", "", ActDetail(about=2)))
GIVEN = (step(1, "open"), step(2, "assign", "He broke it.", ActDetail(BEN)), step(3, "note", "x"))


def shown(steps: tuple[CaseStep, ...]) -> list[tuple[str, str]]:
    return [(each.step, each.text) for each in steps]


def test_a_corrected_reply_has_its_present_words() -> None:
    corrected = standing_reply(AMENDED, 2)

    assert corrected is not None
    assert corrected.text == "Red."
    assert [each.text for each in standing_replies(AMENDED)] == ["Red.", "Room 3."]


def test_a_reply_that_was_taken_back_stands_no_more() -> None:
    assert standing_reply(RETRACTED, 2) is None
    assert [each.text for each in standing_replies(RETRACTED)] == ["Room 3."]


def test_what_was_corrected_once_is_the_same_corrected_twice() -> None:
    for steps in (AMENDED, RETRACTED):
        assert as_corrected(as_corrected(steps)) == as_corrected(steps)


def test_those_who_answer_see_that_a_reply_was_corrected_and_its_present_words() -> None:
    assert shown(as_corrected(AMENDED))[1:] == [
        ("reply", "Red."),
        ("reply", "Room 3."),
        ("amend", ""),
    ]
    assert shown(as_corrected(RETRACTED))[1] == ("reply", "")


def test_the_asker_sees_no_note_and_no_reason_of_an_assignment() -> None:
    assert shown(for_asker(GIVEN)) == [("open", ""), ("assign", "")]


def test_the_asker_sees_replies_as_they_stand() -> None:
    assert shown(for_asker(AMENDED))[1:] == [("reply", "Red."), ("reply", "Room 3.")]
    assert shown(for_asker(RETRACTED))[1:] == [("reply", "Room 3.")]


def test_a_reply_is_its_authors_alone_also_once_it_is_taken_back() -> None:
    assert own_reply(RETRACTED, 2, ANNA)
    assert not own_reply(RETRACTED, 2, BEN)
    assert not own_reply(RETRACTED, 1, ANNA)
