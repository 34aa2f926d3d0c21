"""Queries over the record and their results: questions, feedback, conversations, cursors.

A cursor is the position where a page of a list ended; links and clients hold it as opaque text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar

from bot.domain.cases import State
from bot.domain.interactions import ConfidenceLevel, Feedback, Reason, Status, Vote
from bot.domain.messages import Intent, InteractionId, Platform, Stage, Thread
from bot.domain.outcomes import AnswerType

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Position where a page of a list (newest first) ended: time and key of its last entry."""

    at: datetime
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[Item]):
    """A page of a list; ``next`` is the cursor of the next page, None at the end.

    A page may hold fewer entries than requested, or none, although there is a next one: a search
    reads a bounded number of rows.
    """

    items: tuple[Item, ...]
    next: Cursor | None = None


@dataclass(frozen=True, slots=True)
class QuestionQuery:
    """Filters of a list of questions; an empty one means all. Withdrawn ones are never listed.

    The question must contain each of ``words``, ignoring case. ``vote`` "none" means not rated.
    ``since`` is inclusive, ``until`` exclusive; both with a time zone. ``refused``: whether a
    limit refused it. ``level`` is the answer's confidence level. ``least`` and ``most`` bound the
    confidence (0..1) and leave out questions without one.
    """

    words: str = ""
    answer_type: AnswerType | None = None
    refused: bool | None = None
    level: ConfidenceLevel | None = None
    intent: Intent | None = None
    platform: Platform = ""
    person_id: str = ""
    vote: Vote | Literal["none"] | None = None
    since: datetime | None = None
    until: datetime | None = None
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question in a list. ``channel`` is ``platform:channel``.

    ``case`` is the state of its escalation, also if a button below it asked for a person.
    ``answer_type`` and ``intent`` are None until there is an outcome. ``refused`` is the note of
    its refusal (bot.domain.outcomes.refusal_note), or "". ``level`` is that of an answer from the
    wiki, None if not recorded.
    """

    id: InteractionId
    asked_at: datetime
    text: str
    person_id: str
    person_name: str
    channel: str
    private: bool
    status: Status
    answer_type: AnswerType | None = None
    intent: Intent | None = None
    confidence: float | None = None
    level: ConfidenceLevel | None = None
    ups: int = 0
    downs: int = 0
    case: State | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackQuery:
    """Filters of a list of feedback; None and False mean all."""

    vote: Vote | None = None
    reason: Reason | None = None
    commented: bool = False


@dataclass(frozen=True, slots=True)
class GivenFeedback:
    """Feedback, and the question that was answered.

    ``person_name`` is known only if the asker gave the feedback.
    """

    feedback: Feedback
    question: str
    answer_type: AnswerType | None
    person_name: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Feedback counts of a span; ``reasons`` counts the thumbs down by reason, "" for none."""

    ups: int = 0
    downs: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """Number of cases by state, and of unsettled ones owned by a person."""

    states: Mapping[State, int] = field(default_factory=dict)
    own: int = 0

    def among(self, states: frozenset[State]) -> int:
        """Return the number of cases in any of the states; of all cases if none is given."""
        return sum(count for state, count in self.states.items() if not states or state in states)


_LONGEST_NUMBER = 18
"""Digits that fit 63 bits."""


def encode_cursor(place: Cursor) -> str:
    """Return a cursor as opaque text for links and clients."""
    plain = json.dumps([place.at.isoformat(), *place.key])
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def decode_cursor(given: str, *, parts: int, numbered: bool = False) -> Cursor | None:
    """Return the cursor in a text; None unless ``encode_cursor`` wrote it.

    Args:
        given: The text.
        parts: The number of parts of the key.
        numbered: Whether each part is a number.
    """
    try:
        at, *key = json.loads(base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)))
        place = Cursor(datetime.fromisoformat(at), tuple(key))
    except (ValueError, TypeError, RecursionError):
        return None
    fits = len(key) == parts and all(isinstance(part, str) for part in key)
    if not fits or place.at.tzinfo is None or (numbered and not all(map(_is_number, key))):
        return None
    return place


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= _LONGEST_NUMBER


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A conversation with a question that is not withdrawn; ``id`` is Thread.id.

    ``question`` is the full text of the first such question, and ``asked`` its id.
    """

    id: str
    question: str
    last_at: datetime
    asked: InteractionId


@dataclass(frozen=True, slots=True)
class FoundQuestion:
    """A question found by a search; ``thread`` is bot.domain.messages.Thread.id."""

    id: InteractionId
    thread: str
    question: str
    asked_at: datetime

    @property
    def asked(self) -> InteractionId:
        return self.id


@dataclass(frozen=True, slots=True)
class InteractionGlance:
    """The status of a question; ``case_state`` is None if it is not escalated.

    ``stage`` is the last recorded one, None before the first; ``pages`` is as in Activity.
    """

    id: InteractionId
    status: Status
    stage: Stage | None = None
    case_state: State | None = None
    case_version: int = 0
    pages: int = 0


class Watches(Protocol):
    """The status of a conversation, cheap enough to be polled."""

    async def thread(self, thread: Thread, limit: int) -> Sequence[InteractionGlance]:
        """Return the last questions of a thread, withdrawn ones too, oldest first.

        Raises bot.domain.errors.StoreUnavailable.
        """
        ...
