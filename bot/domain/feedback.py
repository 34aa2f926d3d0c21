"""Allowed values of feedback on an answer (vote, rating, reason, comment), and their validation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, get_args

from bot.domain.errors import FeedbackInvalid
from bot.domain.interactions import Feedback
from bot.domain.messages import InteractionId

Vote = Literal["up", "down"]
Reason = Literal["wrong", "incomplete", "outdated", "off_topic", "unclear", "other"]
REASONS: tuple[Reason, ...] = get_args(Reason)

RATINGS = range(1, 6)
LONGEST_COMMENT = 2000
"""Characters."""


def new_feedback(
    interaction_id: InteractionId,
    person_id: str,
    vote: Vote,
    *,
    rating: int | None = None,
    reason: str | None = None,
    comment: str | None = None,
) -> Feedback:
    """Return validated feedback dated now; a blank comment becomes None. Raises FeedbackInvalid."""
    if rating is not None and rating not in RATINGS:
        raise FeedbackInvalid(f"The rating {rating!r} is not one of 1 to 5.")
    if reason is not None and reason not in REASONS:
        raise FeedbackInvalid(f"The reason {reason!r} is not one of {', '.join(REASONS)}.")
    comment = (comment or "").strip() or None
    if comment is not None and len(comment) > LONGEST_COMMENT:
        raise FeedbackInvalid(
            f"The comment has {len(comment)} characters. Say it in {LONGEST_COMMENT}."
        )
    return Feedback(
        interaction_id=interaction_id,
        person_id=person_id,
        vote=vote,
        given_at=datetime.now(UTC),
        rating=rating,
        reason=reason,
        comment=comment,
    )
