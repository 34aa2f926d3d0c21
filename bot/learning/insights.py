"""Figures of use: their definitions, what they need to know of each question, and their views.

No word of a question is in them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import takewhile
from typing import Literal, Protocol

from bot.answering.visibility import sources_of
from bot.domain.handoff import question_of_person_request
from bot.domain.interactions import Interaction, Reply
from bot.domain.messages import InteractionId
from bot.domain.record_reports import EVERYTHING, Figures, Percentiles, Scope, Span, UsageSum
from bot.domain.texts import tr
from bot.learning.gap_jobs import GIVEN_UP, MOST_FOLLOWED, MOST_WAITING, SETTLED
from bot.learning.gap_record import FollowedQuestion
from bot.learning.gap_views import NearPage
from bot.learning.gaps import same_question
from bot.learning.jobs import JobMarks
from rag.errors import RagError
from rag.types import Chunk, Principal

JOB = "figures"
STALE_AFTER = timedelta(days=180)
MOST_PAGES = 20
_CANDIDATE_PAGES = 60
_FOLLOWED_WITHIN = timedelta(days=1)
_MOST_EARLIER = 10
"""Earlier questions of a person that a question is compared with, the newest."""

Measure = Literal[
    "asked",
    "answered",
    "partial",
    "unsure",
    "handed_over",
    "offered",
    "asked_back",
    "general",
    "refused",
    "open",
    "silent",
    "deflection",
    "answering",
    "claiming",
    "resolving",
    "thumbs",
    "cost",
    "load",
    "stale",
    "groups",
]

NONE = "(none)"
"""Stands, where a group is named, for private conversations, and for no space."""

DEFINITIONS: Mapping[Measure, str] = {
    "asked": tr("Messages to the bot, not counting button clicks and withdrawn messages."),
    "answered": tr("Answered from the wiki, fully or in part, including guesses with a thumbs up."),
    "partial": tr("Answered, but part of the question was left open."),
    "unsure": tr("A guess was shown and got no thumbs up."),
    "handed_over": tr("Passed on to a person, directly or with a button."),
    "offered": tr("The asker was offered a person and did not accept."),
    "asked_back": tr("The bot asked a follow-up question."),
    "general": tr("Small talk and general knowledge."),
    "refused": tr("Stopped by a limit or a pause."),
    "open": tr("Still in progress."),
    "silent": tr("Not addressed to the bot, so not counted as asked."),
    "deflection": tr(
        "Of people's questions that needed the wiki (answered, guessed, handed over or offered"
        " a person), the share that was answered and not followed within 24 hours by a thumbs "
        "down, a request for a person or the same question from the same person. It can't tell"
        " who gave up, asked a colleague or believed a wrong answer, and the figure for the "
        "last day may still fall."
    ),
    "answering": tr(
        "From the arrival of a question to its outcome, not counting small talk and rejected "
        "questions."
    ),
    "claiming": tr(
        "From the opening of a case to the first claim or reply, for cases opened in this period."
    ),
    "resolving": tr(
        "From the opening of a case to its last resolution, for cases opened in this period."
    ),
    "thumbs": tr("The share of thumbs up among all thumbs given in this period."),
    "cost": tr("Model calls at list prices; calls with unknown price are left out."),
    "load": tr(
        "For cases opened in this period: how many an expert claimed, replied to and resolved,"
        " and the median time to their first reply. “Open now” counts all cases they hold "
        "today."
    ),
    "stale": tr(
        "Pages unchanged for 180 days, sorted by how many answers of this period cite them, as"
        " far as you can read them. The owner is the last editor."
    ),
    "groups": tr(
        "Private conversations count as one channel. The space is that of the best page found,"
        " the intent is how the question was interpreted."
    ),
}
"""What each figure is: on the page, in the API's description and in docs/insights.md."""


def group_key(named: str) -> str | None:
    """Return the key of a named channel, space or intent; None if none is named."""
    return (None if not named else "") if named in {"", NONE} else named


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """What figures need to know of a question beside its row.

    ``cited`` are space and page of what its answer cites. ``repeats`` are the earlier questions
    that it shows to have been left open: it asks the same, or for a person about it.
    """

    id: InteractionId
    asked_at: datetime
    private: bool
    by_bot: bool
    space: str = ""
    cited: tuple[tuple[str, str], ...] = ()
    repeats: tuple[InteractionId, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpertLoad:
    """An expert's work on the cases of some days; ``held`` are those that they have now."""

    id: str
    name: str
    held: int = 0
    claimed: int = 0
    answered: int = 0
    resolved: int = 0
    replying: Percentiles = field(default_factory=Percentiles)


@dataclass(frozen=True, slots=True)
class CitedPage:
    """A page that was not changed for long, and the number of answers that cite it."""

    page: NearPage
    answers: int


@dataclass(frozen=True, slots=True)
class Insights:
    """All figures of some days; ``blind``: the index could not be asked for pages."""

    figures: Figures
    costs: Sequence[UsageSum]
    experts: Sequence[ExpertLoad]
    stale: Sequence[CitedPage]
    blind: bool


class FollowsRecord(Protocol):
    """The record in the order of arrival. Raises StoreUnavailable."""

    async def follow(
        self, tenant: str, after: int, waiting: Collection[int], limit: int
    ) -> Sequence[FollowedQuestion]:
        """Return those ``waiting``, and ``limit`` interactions after a number, in order."""
        ...

    async def asked(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, Interaction]:
        """Return interactions by id, without withdrawn ones."""
        ...


class FactRecord(Protocol):
    """The record of facts. Raises StoreUnavailable."""

    async def earlier(
        self, asked: Interaction, since: datetime, limit: int
    ) -> Sequence[InteractionId]:
        """Return the newest earlier questions of the same asker since a time."""
        ...

    async def add(self, tenant: str, facts: Sequence[QuestionFacts]) -> None:
        """Record facts; what is recorded stays."""
        ...


class InsightReports(Protocol):
    """The record's figures besides those of questions. Raises StoreUnavailable."""

    async def costs(
        self, tenant: str, span: Span, scope: Scope, zone: tzinfo
    ) -> Sequence[UsageSum]:
        """Return what model calls cost on each day with a call, in order."""
        ...

    async def experts(self, tenant: str, span: Span) -> Sequence[ExpertLoad]: ...

    async def cited(
        self, tenant: str, span: Span, scope: Scope, limit: int
    ) -> Sequence[tuple[str, str, int]]:
        """Return space, page and number of answers that cite it, most cited first."""
        ...


class CountsQuestions(Protocol):
    """The figures of questions. Raises StoreUnavailable."""

    async def figures(
        self, tenant: str, span: Span, scope: Scope = EVERYTHING, zone: tzinfo = UTC
    ) -> Figures: ...


class ReadsPages(Protocol):
    """The pages of the index. Raises rag.errors.IndexUnavailable."""

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        """Return a page's chunks in order; empty if it does not exist or is not readable."""
        ...


class FactCollector:
    """The job that records facts of questions once they have an outcome."""

    def __init__(
        self,
        tenant: str,
        record: FollowsRecord,
        facts: FactRecord,
        marks: JobMarks,
        *,
        now: Callable[[], datetime],
        settled: timedelta = SETTLED,
    ) -> None:
        self._tenant = tenant
        self._record = record
        self._facts = facts
        self._marks = marks
        self._now = now
        self._settled = settled

    async def run(self) -> bool:
        """Record facts of a bounded number of questions; return whether there are more."""
        mark = _Mark.of(await self._marks.mark(self._tenant, JOB))
        now = self._now()
        listed = await self._record.follow(self._tenant, mark.number, mark.waiting, MOST_FOLLOWED)
        # Not filtered by the time: one with a lower number may still become visible.
        found = list(takewhile(lambda each: each.asked_at <= now - self._settled, listed))
        asked = await self._record.asked(self._tenant, [each.id for each in found if each.finished])
        await self._facts.add(self._tenant, [await self._facts_of(each) for each in asked.values()])
        waiting = [
            each.number for each in found if not each.finished and now - each.asked_at < GIVEN_UP
        ]
        number = max([mark.number, *(each.number for each in found)])
        moved = _Mark(number, tuple(waiting[-MOST_WAITING:]))
        if moved != mark:
            await self._marks.set_mark(self._tenant, JOB, json.dumps(asdict(moved)))
        return len(listed) >= MOST_FOLLOWED and number > mark.number

    async def _facts_of(self, asked: Interaction) -> QuestionFacts:
        outcome, message = asked.outcome, asked.message
        found = () if outcome is None else sources_of(outcome.response)
        answered = outcome is not None and isinstance(outcome.response, Reply)
        return QuestionFacts(
            asked.id,
            asked.created_at,
            private=message.private,
            by_bot=message.by_bot,
            space=found[0].space if found else "",
            cited=tuple({(each.space, each.page_id): 0 for each in found}) if answered else (),
            repeats=await self._repeated_by(asked),
        )

    async def _repeated_by(self, asked: Interaction) -> tuple[InteractionId, ...]:
        outcome = asked.outcome
        if outcome is None or outcome.silent or asked.message.by_bot:
            return ()
        pressed = question_of_person_request(asked.message)
        if pressed is not None:
            return (pressed,)
        since = asked.created_at - _FOLLOWED_WITHIN
        ids = await self._facts.earlier(asked, since, _MOST_EARLIER)
        before = await self._record.asked(self._tenant, ids)
        return tuple(
            each.id
            for each in before.values()
            if each.outcome is not None and same_question(each.outcome.trace, outcome.trace)
        )


@dataclass(frozen=True, slots=True)
class _Mark:
    """The last interaction that was looked at, and those before it that were unfinished."""

    number: int = 0
    waiting: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> _Mark:
        stored = json.loads(text or "{}")
        return cls(stored.get("number", 0), tuple(stored.get("waiting", ())))


class InsightViews:
    """Shows figures of one tenant, whose days are those of ``zone``."""

    def __init__(
        self,
        tenant: str,
        questions: CountsQuestions,
        reports: InsightReports,
        index: ReadsPages,
        zone: tzinfo,
    ) -> None:
        self._tenant = tenant
        self._questions = questions
        self._reports = reports
        self._index = index
        self.zone = zone

    async def of(self, span: Span, scope: Scope, readers: frozenset[Principal]) -> Insights:
        """Return all figures; of pages those that ``readers`` may read."""
        figures = await self._questions.figures(self._tenant, span, scope, self.zone)
        try:
            stale, blind = await self.stale(span, readers, scope), False
        except RagError:
            stale, blind = [], True
        return Insights(
            figures,
            await self._reports.costs(self._tenant, span, scope, self.zone),
            await self._reports.experts(self._tenant, span),
            stale,
            blind,
        )

    async def stale(
        self, span: Span, readers: frozenset[Principal], scope: Scope = EVERYTHING
    ) -> Sequence[CitedPage]:
        """Return the readable pages unchanged for long, by the answers of a span that cite them.

        Raises StoreUnavailable, RagError.
        """
        cited = await self._reports.cited(self._tenant, span, scope, _CANDIDATE_PAGES)
        before = span.until - STALE_AFTER
        read = [self._index.page(self._tenant, space, page, readers) for space, page, _ in cited]
        found: list[CitedPage] = []
        for chunks, (_, _, answers) in zip(await asyncio.gather(*read), cited, strict=True):
            first = chunks[0] if chunks else None
            if first is None or first.updated_at is None or first.updated_at >= before:
                continue
            page = NearPage(first.title, first.url, first.space, first.updated_by, first.updated_at)
            found.append(CitedPage(page, answers))
        return found[:MOST_PAGES]
