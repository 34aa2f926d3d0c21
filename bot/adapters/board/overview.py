"""The board's first page: what needs somebody now, and how it goes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from bot.adapters.board.amounts import duration, several
from bot.adapters.board.frame import show
from bot.adapters.board.glance import Looked, told
from bot.adapters.board.spans import choices, days_of, now
from bot.domain.health import ComponentStatus
from bot.domain.record_reports import (
    DeliveryFailures,
    Statistics,
    SumsUsage,
    WaitingCases,
    earlier_span,
    last_days,
)
from bot.doors.identity import needs

CheckParts = Callable[[], Awaitable[Sequence[ComponentStatus]]]
"""Looks at every part."""

PATH = "/board"
_WEEK = 7
_LIMITS = "limits"


@dataclass(frozen=True, slots=True)
class Concern:
    """Something that needs somebody; ``urgent`` ones need them now."""

    text: str
    href: str
    link: str
    urgent: bool = True


class Overview:
    """Shows the record in figures; holds no state of its own."""

    def __init__(
        self,
        *,
        statistics: Statistics,
        usage: SumsUsage,
        check_parts: CheckParts,
        tenant: str,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._statistics = statistics
        self._usage = usage
        self._check_parts = check_parts
        self._tenant = tenant
        self._clock = clock

    async def page(self, request: web.Request) -> web.Response:
        """Show some days against as many before; of an empty record, how to begin."""
        needs(request, "expert")
        days, at = days_of(request), self._clock()
        begun = await self._statistics.any_question(self._tenant)
        context = {
            "begun": begun,
            "concerns": await self._concerns(at),
            "spans": choices(days, PATH),
            **(told(await self._look(days, at)) if begun else {}),
        }
        return show(request, "board/overview.html", context)

    async def _look(self, days: int, at: datetime) -> Looked:
        span = last_days(at, days)
        earlier = earlier_span(span, days)
        return Looked(
            days=days,
            now=await self._statistics.figures(self._tenant, span),
            then=await self._statistics.figures(self._tenant, earlier),
            spent=await self._usage.sums(span, "day", self._tenant),
            spent_then=await self._usage.sums(earlier, "day", self._tenant),
        )

    async def _concerns(self, at: datetime) -> Sequence[Concern]:
        waiting = await self._statistics.waiting(self._tenant)
        troubles = await self._statistics.troubles(self._tenant, last_days(at, _WEEK))
        parts = await self._check_parts()
        return [*_of_cases(waiting, at), *_of_parts(parts), *_of_deliveries(troubles)]


def _of_cases(waiting: WaitingCases, at: datetime) -> Iterator[Concern]:
    if waiting.unclaimed and waiting.since is not None:
        wait = "waits" if waiting.unclaimed == 1 else "wait"
        age = duration(max(0.0, (at - waiting.since).total_seconds()))
        oldest = f"for {age}" if waiting.unclaimed == 1 else f"the oldest for {age}"
        text = f"{several(waiting.unclaimed, 'question')} {wait} for a person, {oldest}."
        yield Concern(text, "/board/escalations", "See what waits")


def _of_parts(parts: Sequence[ComponentStatus]) -> Iterator[Concern]:
    for part in parts:
        if part.state == "failed":
            yield Concern(f"{part.name} is broken: {part.detail}", "/board/parts", "See the cure")
        elif part.state == "paused":
            yield Concern(f"Answering is {part.detail}", "/board/parts", "See how to resume")
        elif part.state == "limited" and part.name != _LIMITS:
            text = f"{part.name} does not work as it should; {part.detail}"
            yield Concern(text, "/board/parts", "See the parts", urgent=False)
        elif part.state == "limited":
            text = f"A limit is reached; {part.detail}"
            yield Concern(text, "/board/parts", "See the limits", urgent=False)


def _of_deliveries(troubles: DeliveryFailures) -> Iterator[Concern]:
    if troubles.answers:
        text = f"{several(troubles.answers, 'answer')} could not be delivered in the last 7 days."
        yield Concern(text, "/board/questions", "Look among the questions", urgent=False)
    if troubles.news:
        news = several(troubles.news, "message about an escalation", "messages about escalations")
        text = f"{news} did not reach the asker in the last 7 days."
        yield Concern(text, "/board/escalations", "See the escalations", urgent=False)
