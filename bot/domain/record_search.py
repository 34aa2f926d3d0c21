"""Queries over the record and their results: questions, feedback, conversations, cursors.

A cursor says where a page of a list ended; links and clients carry it as opaque text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar

from bot.domain.cases import State
from bot.domain.feedback import Reason, Vote
from bot.domain.interactions import ConfidenceLevel, Feedback, Status
from bot.domain.messages import Intent, InteractionId, Platform, Stage, Thread
from bot.domain.outcomes import AnswerType

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where in a list, newest first, a page ended: its last entry's moment and key."""

    at: datetime
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[Item]):
    """A page of a list; ``next`` is where to go on, None at the end.

    A page may hold fewer entries than were asked for, or none, although there is a next one: a
    search looks at a bounded number of rows and then says how far it came.
    """

    items: tuple[Item, ...]
    next: Cursor | None = None


@dataclass(frozen=True, slots=True)
class QuestionQuery:
    """Which questions to list; empty means all. What was withdrawn is never listed.

    Each of ``words`` must be in the question, in any case. ``person_id`` is exact. ``vote``
    "none" means not judged. ``since`` is within, ``until`` is not; both with their zone.
    ``refused``: it was not worked on, or was. ``level`` is how an answer was offered.
    ``least`` and ``most`` bound the confidence (0..1) and leave out questions without one.
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

    ``case`` is the state of its escalation, also where a button below it asked for a person.
    ``answer_type`` and ``intent`` are None until there is an outcome. ``refused`` says why it was
    not worked on (bot.domain.outcomes.refusal_note), "" where it was. ``level`` is that of an
    answer from the wiki, None where it was not recorded.
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
    """Which judgements to list; None and False mean all."""

    vote: Vote | None = None
    reason: Reason | None = None
    commented: bool = False


@dataclass(frozen=True, slots=True)
class GivenFeedback:
    """A judgement, and the question whose answer it judges.

    ``person_name`` is known where the judge is who asked.
    """

    feedback: Feedback
    question: str
    answer_type: AnswerType | None
    person_name: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """How many judgements were given in a span; ``reasons`` counts the thumbs down by reason.

    A thumb down without a reason is counted under "".
    """

    ups: int = 0
    downs: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """How many cases there are by state, and how many unsettled ones a person has."""

    states: Mapping[State, int] = field(default_factory=dict)
    own: int = 0

    def among(self, states: frozenset[State]) -> int:
        """Return how many are in any of the states; in none named, all."""
        return sum(count for state, count in self.states.items() if not states or state in states)


class Searches(Protocol):
    """Searches of the record, each within one tenant. Raises bot.domain.errors.StoreUnavailable."""

    async def questions(
        self, tenant: str, query: QuestionQuery, *, limit: int, after: Cursor | None = None
    ) -> ResultPage[AskedQuestion]:
        """Return questions, newest first."""
        ...

    async def feedback(
        self, tenant: str, query: FeedbackQuery, *, limit: int, after: Cursor | None = None
    ) -> ResultPage[GivenFeedback]:
        """Return judgements, newest first."""
        ...

    async def feedback_counts(self, tenant: str, since: datetime) -> FeedbackCounts: ...

    async def case_counts(self, tenant: str, owner_id: str) -> CaseCounts: ...


_LONGEST_NUMBER = 18
"""Digits that fit 63 bits."""


def encode_cursor(place: Cursor) -> str:
    """Return a place as a link or a client carries it."""
    plain = json.dumps([place.at.isoformat(), *place.key])
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def decode_cursor(given: str, *, parts: int, numbered: bool = False) -> Cursor | None:
    """Return the place that was written, None for what was not written here.

    Args:
        given: what ``encode_cursor`` made.
        parts: of how many parts the key is.
        numbered: whether each part is a number.
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
    """A conversation that has a question left; ``id`` is bot.domain.messages.Thread.id.

    ``question`` is the first that was not withdrawn, in full, and ``asked`` its id.
    """

    id: str
    question: str
    last_at: datetime
    asked: InteractionId


@dataclass(frozen=True, slots=True)
class FoundQuestion:
    """A question that was found again; ``thread`` is bot.domain.messages.Thread.id."""

    id: InteractionId
    thread: str
    question: str
    asked_at: datetime

    @property
    def asked(self) -> InteractionId:
        return self.id


@dataclass(frozen=True, slots=True)
class InteractionGlance:
    """One question as it stands; ``case_state`` is None where no person was asked.

    ``stage`` is the last one that was recorded, None before the first; ``pages`` as in Activity.
    """

    id: InteractionId
    status: Status
    stage: Stage | None = None
    case_state: State | None = None
    case_version: int = 0
    pages: int = 0


class Watches(Protocol):
    """A conversation at a glance, cheap enough to be looked at again and again."""

    async def thread(self, thread: Thread, limit: int) -> Sequence[InteractionGlance]:
        """Return the last questions of a thread, withdrawn ones too, oldest first.

        Raises bot.domain.errors.StoreUnavailable.
        """
        ...
