"""The board's first page: open concerns, and a span of days in words and tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

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
from bot.domain.texts import Text, join_texts, tr, trn
from bot.domain.texts.dates import duration
from bot.store.limits import StoredUsage
from bot.store.statistics import StoredStatistics
from bot.web.auth.identity import require_role
from bot.web.board.escalations import waits_too_long
from bot.web.board.figures import compared, count, percent, usd
from bot.web.board.health import component_name
from bot.web.board.layout import days_asked_for, render_page, span_choices, utc_now

SHORTENED_NOTE = tr(
    "Only the newest {questions} questions, the newest {questions} votes and {cases} escalations "
    "of a period are counted.",
    questions=MOST_QUESTIONS,
    cases=MOST_CASES,
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
        "words": join_texts(" ", _summary(spans)),
        "tiles": _tiles(spans),
        "shortened": SHORTENED_NOTE if shortened else "",
    }


def _summary(spans: ComparedSpan) -> Iterator[str]:
    yield from _question_summary(spans)
    if overheard := spans.now.of("silent"):
        yield trn(
            "{n} more message was left alone because it was not meant for the bot.",
            "{n} more messages were left alone because they were not meant for the bot.",
            overheard,
        )


def _question_summary(spans: ComparedSpan) -> Iterator[str]:
    new, old, days = spans.now, spans.then, spans.days
    if not new.asked:
        yield trn(
            "No questions in the last {days} days; {n} in the {days} days before.",
            "No questions in the last {days} days; {n} in the {days} days before.",
            old.asked,
            days=days,
        )
        return
    yield trn(
        "{n} question in the last {days} days, {comparison}.",
        "{n} questions in the last {days} days, {comparison}.",
        new.asked,
        days=days,
        comparison=_comparison(spans),
    )
    share, earlier = new.total.deflection, old.total.deflection
    if share is not None:
        yield _deflection(percent(share), earlier)
    if new.answering.count:
        yield tr("The median response time was {time}.", time=duration(new.answering.p50))


def _deflection(share: str, earlier: float | None) -> str:
    if earlier is None:
        return tr("{share} of those that needed the wiki needed no person.", share=share)
    return tr(
        "{share} of those that needed the wiki needed no person (before: {earlier}).",
        share=share,
        earlier=percent(earlier),
    )


def _comparison(spans: ComparedSpan) -> str:
    now, then, days = spans.now.asked, spans.then.asked, spans.days
    if not then:
        return tr("none in the {days} days before", days=days)
    if now == then:
        return tr("the same as in the {days} days before", days=days)
    difference = compared(now, then)
    return tr("{difference} than in the {days} days before", difference=difference, days=days)


def _figure_before(spans: ComparedSpan, write: Callable[[Figures], str]) -> str:
    return _before(write(spans.then)) if spans.then.asked else tr("nothing before")


def _before(value: str) -> Text:
    return tr("before: {value}", value=value)


def _tiles(spans: ComparedSpan) -> Sequence[Tile]:
    new = spans.now
    return [
        Tile(
            tr("Questions"),
            count(new.asked),
            _figure_before(spans, lambda then: count(then.asked)),
            "/board/questions",
        ),
        Tile(
            tr("Answered without a person"),
            percent(new.total.deflection),
            _figure_before(spans, lambda then: percent(then.total.deflection)),
            "/board/insights",
        ),
        Tile(
            tr("Handed over"),
            count(new.of("escalated")),
            _escalation_note(spans),
            "/board/escalations",
        ),
        Tile(tr("Median response time"), _median(new.answering), slowest(new.answering)),
        Tile(tr("Thumbs up"), _thumbs(new), _figure_before(spans, _thumbs), "/board/feedback"),
        Tile(tr("Model cost"), usd(_cost(spans.usage_now)), _cost_note(spans), "/board/usage"),
    ]


def _cost_note(spans: ComparedSpan) -> str:
    unpriced = sum(each.unpriced_calls for each in spans.usage_now)
    if unpriced:
        return trn(
            "plus {n} call with unknown price", "plus {n} calls with unknown price", unpriced
        )
    return _before(usd(_cost(spans.usage_before)))


def _escalation_note(spans: ComparedSpan) -> str:
    """Return the tile's note: offers of a person that nobody took are counted apart."""
    offered, earlier = (
        spans.now.of("offered"),
        _figure_before(spans, lambda x: count(x.of("escalated"))),
    )
    if not offered:
        return earlier
    note = trn("{n} more offered a person", "{n} more offered a person", offered)
    return join_texts("; ", (note, earlier))


def _cost(sums: Sequence[UsageSum]) -> float:
    return sum(each.cost_usd for each in sums)


def _median(spread: Percentiles) -> str:
    return duration(spread.p50) if spread.count else percent(None)


def slowest(spread: Percentiles) -> str:
    """Return within which time 95 % were, as a note of the median."""
    if not spread.count:
        return tr("no data")
    return tr("95 % within {time}", time=duration(spread.p95))


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
    """Handler of the first page; stateless. ``patience`` is the reminder period, 0 for none."""

    statistics: StoredStatistics
    usage: StoredUsage
    check_parts: CheckComponents
    tenant: str
    patience: timedelta
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
            *_case_concerns(waiting, at, self.patience),
            *_component_concerns(parts),
            *_delivery_concerns(troubles),
        ]


def _case_concerns(waiting: WaitingCases, at: datetime, patience: timedelta) -> Iterator[Concern]:
    if waiting.unclaimed and waiting.since is not None:
        age = duration(max(0.0, (at - waiting.since).total_seconds()))
        text = trn(
            "{n} question has been waiting for a person for {age}.",
            "{n} questions are waiting for a person, the oldest for {age}.",
            waiting.unclaimed,
            age=age,
        )
        late = waits_too_long(waiting.since, at, patience)
        yield Concern(text, "/board/escalations", tr("View escalations"), urgent=late)


def _component_concerns(parts: Sequence[ComponentStatus]) -> Iterator[Concern]:
    for part in parts:
        told = {"name": component_name(part.name), "detail": part.detail}
        if part.state == "failed":
            text = tr("{name} is not working: {detail}", **told)
            yield Concern(text, "/board/parts", tr("How to fix it"))
        elif part.state == "paused":
            text = tr("Answering is {detail}", detail=part.detail)
            yield Concern(text, "/board/parts", tr("How to resume"))
        elif part.state == "limited" and part.name != _LIMITS:
            text = tr("{name} is not working as it should: {detail}", **told)
            yield Concern(text, "/board/parts", tr("System status"), urgent=False)
        elif part.state == "limited":
            text = tr("A limit has been reached: {detail}", detail=part.detail)
            yield Concern(text, "/board/parts", tr("View limits"), urgent=False)


def _delivery_concerns(troubles: DeliveryFailures) -> Iterator[Concern]:
    if troubles.answers:
        text = trn(
            "{n} answer could not be delivered in the last 7 days.",
            "{n} answers could not be delivered in the last 7 days.",
            troubles.answers,
        )
        yield Concern(text, "/board/questions", tr("View questions"), urgent=False)
    if troubles.news:
        text = trn(
            "{n} message about an escalation did not reach the asker in the last 7 days.",
            "{n} messages about escalations did not reach the asker in the last 7 days.",
            troubles.news,
        )
        yield Concern(text, "/board/escalations", tr("View escalations"), urgent=False)
