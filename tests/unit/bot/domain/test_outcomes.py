"""Tests of outcomes, feedback and errors as values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import FeedbackInvalid, retry_after_seconds
from bot.domain.interactions import (
    LONGEST_COMMENT,
    REASONS,
    Clarification,
    Escalation,
    Interaction,
    Outcome,
    PostedRef,
    Reply,
    Response,
    Route,
    Source,
    Trace,
    new_feedback,
)
from bot.domain.messages import FoundPassage, Intent, InteractionId, Refusal
from bot.domain.outcomes import (
    answer_type,
    busy_outcome,
    document_ids,
    escalation_reason,
    is_unfinished,
    refused_outcome,
    retrieval_used,
    unavailable_outcome,
)
from tests.fakes.builders import NOON, message

SOURCE = Source("c1", "vpn.md", "VPN", "/pages/IT/vpn.md", "", "Use it.", None, 1.0, "folder", "v")
ROUTE = Route(Intent.DOMAIN, 0.9, "rule", "?")


def outcome(response: Response, *pages: str) -> Outcome:
    found = tuple(FoundPassage(f"c{n}", page, "", "", {}) for n, page in enumerate(pages))
    return Outcome(response, Trace(ROUTE, passages=found))


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (Reply("hi", "generic"), "GENERIC"),
        (Reply("no", "answer", (SOURCE,), refused=True), "GENERIC"),
        (Reply("so", "found", (SOURCE,)), "RAG"),
        (Reply("so", "answer", (SOURCE,)), "RAG"),
        (Reply("so", "answer"), "ESCALATION_REQUIRED"),
        (Clarification("which?"), "CLARIFICATION"),
        (Escalation("wait", "asked_for_human", "?"), "ESCALATION_REQUIRED"),
    ],
)
def test_each_response_has_its_type(response: Response, expected: str) -> None:
    assert answer_type(outcome(response)) == expected


@pytest.mark.parametrize(
    "response", [Reply("so", "answer", (SOURCE,)), Escalation("wait", "low_confidence", "?")]
)
def test_what_is_only_recorded_is_no_answer_and_goes_to_nobody(response: Response) -> None:
    silent = replace(outcome(response), silent=True)

    assert answer_type(silent) == "SILENT"
    assert escalation_reason(silent) is None


def test_why_people_are_asked_is_said_of_what_goes_to_them() -> None:
    assert escalation_reason(outcome(Escalation("wait", "unsupported", "?"))) == "unsupported"
    assert escalation_reason(outcome(Reply("so", "answer", (SOURCE,)))) is None


@pytest.mark.parametrize("overheard", [True, False])
def test_troubles_are_told_to_who_asked_and_to_nobody_else(*, overheard: bool) -> None:
    asked = replace(message("hi", private=False), overheard=overheard)
    limit = Refusal("Later.", "rate")

    troubles = (
        busy_outcome(asked),
        unavailable_outcome(asked, "note"),
        refused_outcome(asked, limit),
    )

    assert [each.silent for each in troubles] == [overheard] * 3
    assert refused_outcome(asked, replace(limit, silent=True)).silent


def test_the_index_was_asked_when_there_is_a_confidence_or_a_passage() -> None:
    assert not retrieval_used(outcome(Reply("hi", "generic")))
    assert retrieval_used(outcome(Reply("hi", "generic"), "a"))
    assert retrieval_used(outcome(Escalation("?", "nothing_found", "?", confidence=0.0)))


def test_documents_are_listed_once_in_order() -> None:
    assert document_ids(outcome(Reply("hi", "generic"), "b", "a", "b")) == ("b", "a")


def test_what_is_unavailable_is_handed_over_only_with_consent_in_private() -> None:
    private = unavailable_outcome(message("hi", private=True), "note").response
    public = unavailable_outcome(message("hi", private=False), "note").response

    assert isinstance(private, Escalation)
    assert private.consent_needed
    assert isinstance(public, Escalation)
    assert not public.consent_needed


def test_what_is_not_answered_posted_or_taken_back_is_unfinished() -> None:
    asked = message("hi")
    working = Interaction(asked.interaction_id, asked, "working", NOON)
    answered = Interaction(asked.interaction_id, asked, "done", NOON)
    posted = Interaction(asked.interaction_id, asked, "done", NOON, posted=PostedRef("a", "b"))

    assert [is_unfinished(item) for item in (working, answered, posted)] == [True, True, False]
    assert not is_unfinished(Interaction(asked.interaction_id, asked, "failed", NOON))
    assert is_unfinished(Interaction(asked.interaction_id, asked, "cancelling", NOON))
    assert not is_unfinished(Interaction(asked.interaction_id, asked, "cancelled", NOON))


ID = InteractionId("i1")


@pytest.mark.parametrize("reason", REASONS)
def test_every_known_reason_is_taken(reason: str) -> None:
    kept = new_feedback(ID, "anna", "down", rating=1, reason=reason, comment="  too old \n")

    assert (kept.reason, kept.rating, kept.comment) == (reason, 1, "too old")


def test_a_blank_comment_is_none() -> None:
    assert new_feedback(ID, "anna", "up", comment=" \n").comment is None


@pytest.mark.parametrize("rating", [0, 6, -1])
def test_a_rating_outside_one_to_five_is_refused(rating: int) -> None:
    with pytest.raises(FeedbackInvalid, match="1 to 5"):
        new_feedback(ID, "anna", "up", rating=rating)


def test_an_unknown_reason_is_refused_with_the_known_ones() -> None:
    with pytest.raises(FeedbackInvalid, match=r"'boring' is not one of wrong, incomplete"):
        new_feedback(ID, "anna", "down", reason="boring")


def test_a_comment_may_be_so_long_and_no_longer() -> None:
    assert new_feedback(ID, "anna", "up", comment="x" * LONGEST_COMMENT).comment

    with pytest.raises(FeedbackInvalid, match="2001 characters"):
        new_feedback(ID, "anna", "up", comment="x" * (LONGEST_COMMENT + 1))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        (" 3 ", 3.0),
        ("-1", 0.0),
        ("inf", 86_400.0),
        ("999999999", 86_400.0),
        ("", None),
        ("nan", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        (None, None),
        (["7"], None),
    ],
)
def test_seconds_are_read_and_bounded(header: object, seconds: float | None) -> None:
    assert retry_after_seconds(header) == seconds


@given(st.text())
def test_no_header_is_an_error(header: str) -> None:
    seconds = retry_after_seconds(header)
    assert seconds is None or 0.0 <= seconds <= 86_400.0
