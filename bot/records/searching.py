"""What people look for in the record: questions, judgements, how many cases wait; all frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar

from bot.escalations.types import State
from bot.feedback import Reason, Vote
from bot.outcomes import AnswerType
from bot.types import ConfidenceLevel, Feedback, Intent, InteractionId, Platform, Status

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a list, newest first, a page ended: its last entry's moment and key."""

    at: datetime
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed(Generic[Item]):
    """A page of a list; ``next`` is where to go on, None at the end.

    A page may hold fewer entries than were asked for, or none, although there is a next one: a
    search looks at a bounded number of rows and then says how far it came.
    """

    items: tuple[Item, ...]
    next: Place | None = None


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
    not worked on (bot.outcomes.refusal_note), "" where it was. ``level`` is that of an
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
    """Searches of the record, each within one tenant. Raises bot.errors.StoreUnavailable."""

    async def questions(
        self, tenant: str, query: QuestionQuery, *, limit: int, after: Place | None = None
    ) -> Listed[AskedQuestion]:
        """Return questions, newest first."""
        ...

    async def feedback(
        self, tenant: str, query: FeedbackQuery, *, limit: int, after: Place | None = None
    ) -> Listed[GivenFeedback]:
        """Return judgements, newest first."""
        ...

    async def feedback_counts(self, tenant: str, since: datetime) -> FeedbackCounts: ...

    async def case_counts(self, tenant: str, owner_id: str) -> CaseCounts: ...
