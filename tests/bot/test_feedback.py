from __future__ import annotations

import pytest

from bot.domain.errors import FeedbackInvalid
from bot.domain.feedback import LONGEST_COMMENT, REASONS, new_feedback
from bot.domain.messages import InteractionId

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
