"""Feedback as the page shows it: the thumb, the reasons to choose from, what was said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.feedback import REASONS, Reason
from bot.domain.types import Feedback

WORDS: Mapping[Reason, str] = {
    "wrong": "Wrong",
    "outdated": "Outdated",
    "incomplete": "Incomplete",
    "off_topic": "Didn't understand me",
    "unclear": "Hard to follow",
    "other": "Other",
}
"""Every reason that may be given, in the order in which they are offered."""


@dataclass(frozen=True, slots=True)
class ReasonView:
    """One reason to choose; ``value`` is what is kept."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class VotesView:
    """``thumb`` is empty until one is given; ``told`` says that a reason was given with it."""

    thumb: str = ""
    reasons: tuple[ReasonView, ...] = ()
    comment: str = ""
    told: bool = False
    said: str = ""


def votes_view(given: Feedback | None) -> VotesView:
    """Return what the page shows of what somebody said, or of nothing said yet."""
    if given is None:
        return VotesView()
    if given.vote == "up":
        return VotesView("up")
    reason = next((each for each in REASONS if each == given.reason), None)
    said = WORDS[reason] if reason else ""
    return VotesView(
        thumb="down",
        reasons=tuple(ReasonView(value, label, value == reason) for value, label in WORDS.items()),
        comment=given.comment or "",
        told=bool(said or given.comment),
        said=said,
    )
