"""The board's first page: open concerns, and a span of days in words and tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from aiohttp import web

from bot.domain.health import CheckComponents, ComponentStatus
from bot.domain.record_reports import (
    MOST_CASES,
    MOST_QUESTIONS,
    DeliveryFailures,
    Figures,
    Percentiles,
    UsageSum,
    WaitingCases,
    earlier_span,
    last_days,
)
from bot.store.limits import StoredUsage
from bot.store.statistics import StoredStatistics
from bot.web.auth.identity import require_role
from bot.web.board.figures import compared, count, duration, percent, plural, usd
from bot.web.board.layout import days_asked_for, render_page, span_choices, utc_now

SHORTENED_NOTE = (
    f"There is more than is counted: of a span only the newest {MOST_QUESTIONS:,} questions, as "
    f"many votes, and {MOST_CASES:,} escalations are."
)


@dataclass(frozen=True, slots=True)
class ComparedSpan:
    """The statistics of a span of days, and of the span before it."""

    days: int
    now: Figures
    then: Figures
    usage_now: Sequence[UsageSum]
    usage_before: Sequence[UsageSum]


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure, with a note to compare it with."""

    name: str
    value: str
    note: str
    href: str = ""


def span_context(spans: ComparedSpan) -> dict[str, object]:
    """Return the template's values for a span."""
    shortened = spans.now.shortened or spans.then.shortened
    return {
        "words": " ".join(_summary(spans)),
        "tiles": _tiles(spans),
        "shortened": SHORTENED_NOTE if shortened else "",
    }


def _summary(spans: ComparedSpan) -> Iterator[str]:
    yield from _question_summary(spans)
    if overheard := spans.now.of("silent"):
        yield f"Left alone, as nobody had asked the bot: {plural(overheard, 'more message')}."


def _question_summary(spans: ComparedSpan) -> Iterator[str]:
    new, old, days = spans.now, spans.then, spans.days
    if not new.asked:
        came = plural(old.asked, "question")
        yield f"Nobody asked anything in the last {days} days; in the {days} before it was {came}."
        return
    yield f"In the last {days} days {plural(new.asked, 'question')} came in, {_comparison(spans)}."
    share, earlier = new.total.deflection, old.total.deflection
    if share is not None:
        before = "" if earlier is None else f" (before: {percent(earlier)})"
        yield f"Of those that needed the wiki, {percent(share)} needed no person{before}."
    if new.answering.count:
        yield f"The median response time was {duration(new.answering.p50)}."


def _comparison(spans: ComparedSpan) -> str:
    now, then, earlier = spans.now.asked, spans.then.asked, f"in the {spans.days} days before"
    if not then:
        return f"none {earlier}"
    return f"as many as {earlier}" if now == then else f"{compared(now, then)} than {earlier}"


def _figure_before(spans: ComparedSpan, write: Callable[[Figures], str]) -> str:
    return f"before: {write(spans.then)}" if spans.then.asked else "nothing before"


def _tiles(spans: ComparedSpan) -> Sequence[Tile]:
    new = spans.now
    cost, unpriced = _cost(spans.usage_now), sum(each.unpriced_calls for each in spans.usage_now)
    known = f"before: {usd(_cost(spans.usage_before))}"
    short = f"and {plural(unpriced, 'call')} of unknown price"
    return [
        Tile(
            "Questions",
            count(new.asked),
            _figure_before(spans, lambda then: count(then.asked)),
            "/board/questions",
        ),
        Tile(
            "Without a person",
            percent(new.total.deflection),
            _figure_before(spans, lambda then: percent(then.total.deflection)),
            "/board/insights",
        ),
        Tile(
            "Went to people",
            count(new.of("escalated")),
            _escalation_note(spans),
            "/board/escalations",
        ),
        Tile("Median response time", _median(new.answering), _percentile_95(new.answering)),
        Tile("Thumbs up", _thumbs(new), _figure_before(spans, _thumbs), "/board/feedback"),
        Tile("Cost of models", usd(cost), short if unpriced else known, "/board/usage"),
    ]


def _escalation_note(spans: ComparedSpan) -> str:
    """Return the tile's note: offers of a person that nobody took are counted apart."""
    offered, earlier = (
        spans.now.of("offered"),
        _figure_before(spans, lambda x: count(x.of("escalated"))),
    )
    return f"{count(offered)} more were offered a person; {earlier}" if offered else earlier


def _cost(sums: Sequence[UsageSum]) -> float:
    return sum(each.cost_usd for each in sums)


def _median(spread: Percentiles) -> str:
    return duration(spread.p50) if spread.count else percent(None)


def _percentile_95(spread: Percentiles) -> str:
    return f"95 % within {duration(spread.p95)}" if spread.count else "nothing to time"


def _thumbs(figures: Figures) -> str:
    votes = figures.up + figures.down
    return percent(figures.up / votes if votes else None)


PATH = "/board"
_WEEK = 7
_LIMITS = "limits"


@dataclass(frozen=True, slots=True)
class Concern:
    """Something that needs attention; ``urgent`` if immediately."""

    text: str
    href: str
    link: str
    urgent: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewPage:
    """Handler of the first page; stateless."""

    statistics: StoredStatistics
    usage: StoredUsage
    check_parts: CheckComponents
    tenant: str
    zone: tzinfo = UTC
    clock: Callable[[], datetime] = utc_now

    async def page(self, request: web.Request) -> web.Response:
        """Show a span against the one before; without any question, how to get started."""
        require_role(request, "expert")
        days, at = days_asked_for(request), self.clock()
        begun = await self.statistics.any_question(self.tenant)
        context = {
            "begun": begun,
            "days": days,
            "zone": str(self.zone),
            "concerns": await self._concerns(at),
            "spans": span_choices(days, PATH),
            **(span_context(await self._compare(days, at)) if begun else {}),
        }
        return render_page(request, "board/overview.html", context)

    async def _compare(self, days: int, at: datetime) -> ComparedSpan:
        span = last_days(at, days, self.zone)
        earlier = earlier_span(span, days)
        return ComparedSpan(
            days=days,
            now=await self.statistics.figures(self.tenant, span, zone=self.zone),
            then=await self.statistics.figures(self.tenant, earlier, zone=self.zone),
            usage_now=await self.usage.sums(span, "day", self.tenant),
            usage_before=await self.usage.sums(earlier, "day", self.tenant),
        )

    async def _concerns(self, at: datetime) -> Sequence[Concern]:
        waiting = await self.statistics.waiting(self.tenant)
        troubles = await self.statistics.troubles(self.tenant, last_days(at, _WEEK))
        parts = await self.check_parts()
        return [
            *_case_concerns(waiting, at),
            *_component_concerns(parts),
            *_delivery_concerns(troubles),
        ]


def _case_concerns(waiting: WaitingCases, at: datetime) -> Iterator[Concern]:
    if waiting.unclaimed and waiting.since is not None:
        wait = "waits" if waiting.unclaimed == 1 else "wait"
        age = duration(max(0.0, (at - waiting.since).total_seconds()))
        oldest = f"for {age}" if waiting.unclaimed == 1 else f"the oldest for {age}"
        text = f"{plural(waiting.unclaimed, 'question')} {wait} for a person, {oldest}."
        yield Concern(text, "/board/escalations", "See what waits")


def _component_concerns(parts: Sequence[ComponentStatus]) -> Iterator[Concern]:
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


def _delivery_concerns(troubles: DeliveryFailures) -> Iterator[Concern]:
    if troubles.answers:
        text = f"{plural(troubles.answers, 'answer')} could not be delivered in the last 7 days."
        yield Concern(text, "/board/questions", "Look among the questions", urgent=False)
    if troubles.news:
        news = plural(troubles.news, "message about an escalation", "messages about escalations")
        text = f"{news} did not reach the asker in the last 7 days."
        yield Concern(text, "/board/escalations", "See the escalations", urgent=False)
