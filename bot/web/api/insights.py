"""API of figures of any days, by channel, space and intent; in version 2 only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from aiohttp import web
from pydantic import Field

from bot.domain.record_reports import Grouping, Percentiles, Scope, Tally, span_of
from bot.learning.insights import DEFINITIONS, NONE, ExpertLoad, Insights, InsightViews, group_key
from bot.web.api.admin_schemas import Queried, Words
from bot.web.api.gaps import GapPage, page_of
from bot.web.api.operations import ALWAYS_POSSIBLE, V2, Operation, parameters_of
from bot.web.api.part_schemas import Schema
from bot.web.api.requests import invalid_field, json_reply, query_of
from bot.web.auth.identity import principals_of, require_role

_DEFAULT_DAYS = 30
_MOST_DAYS = 3_660


class InsightSearch(Queried):
    """Which days, and what of them."""

    since: date | None = Field(
        None, description="the first day, such as 2026-11-01; 30 days before the last by default"
    )
    until: date | None = Field(None, description="the last day, such as 2026-11-30, or today")
    channel: Words = Field(
        "", description=f"a channel, such as slack:C1; {NONE} for all private conversations"
    )
    space: Words = Field("", description=f"a space; {NONE} for questions without a page")
    intent: Words = Field("", description="GENERIC, DOMAIN, UNKNOWN or HUMAN")


class QuestionCounts(Schema):
    """QuestionCounts by what became of them."""

    asked: int = Field(description=DEFINITIONS["asked"])
    answered: int = Field(description=DEFINITIONS["answered"])
    partial: int = Field(description=DEFINITIONS["partial"])
    unsure: int = Field(description=DEFINITIONS["unsure"])
    handed_over: int = Field(description=DEFINITIONS["handed_over"])
    offered: int = Field(description=DEFINITIONS["offered"])
    asked_back: int = Field(description=DEFINITIONS["asked_back"])
    general: int = Field(description=DEFINITIONS["general"])
    refused: int = Field(description=DEFINITIONS["refused"])
    open: int = Field(description=DEFINITIONS["open"])
    silent: int = Field(description=DEFINITIONS["silent"])
    deflection: float | None = Field(description=DEFINITIONS["deflection"])


class DayOfQuestions(QuestionCounts):
    """The questions of a day, and the thumbs given on it."""

    day: date
    up: int
    down: int


class GroupOfQuestions(QuestionCounts):
    """The questions of a channel, space or intent."""

    key: str = Field(description="As it is asked for in the address.")


class Times(Schema):
    """Durations in seconds, by nearest rank; null without any."""

    count: int
    p50: float | None
    p95: float | None


class Expert(Schema):
    """An expert's work."""

    id: str
    name: str
    held: int
    claimed: int
    answered: int
    resolved: int
    replying: Times


class StalePage(Schema):
    """A page that was not changed for long."""

    page: GapPage
    answers: int


class InsightsReply(Schema):
    """All figures of some days."""

    since: date
    until: date
    time_zone: str = Field(description="Where the days begin.")
    questions: QuestionCounts
    days: list[DayOfQuestions]
    channels: list[GroupOfQuestions] = Field(description=DEFINITIONS["groups"])
    spaces: list[GroupOfQuestions]
    intents: list[GroupOfQuestions]
    answering: Times = Field(description=DEFINITIONS["answering"])
    claiming: Times = Field(description=DEFINITIONS["claiming"])
    resolving: Times = Field(description=DEFINITIONS["resolving"])
    cost_usd: float = Field(description=DEFINITIONS["cost"])
    unpriced_calls: int
    experts: list[Expert] = Field(description=DEFINITIONS["load"])
    stale_pages: list[StalePage] | None = Field(
        description=f"{DEFINITIONS['stale']} Null while the index can't be asked."
    )
    shortened: bool = Field(description="Whether there is more than is counted.")


INSIGHT_OPERATIONS = (
    Operation(
        "insights",
        "GET",
        f"{V2}/insights",
        "Figures of any days, by channel, space and intent; for those who answer.",
        {200: InsightsReply},
        (*ALWAYS_POSSIBLE, 422),
        parameters=parameters_of(InsightSearch),
    ),
)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsApi:
    """Handler of figures; it checks the role of its caller."""

    tenant: str
    views: InsightViews
    clock: Callable[[], datetime] = _utc_now

    async def show(self, request: web.Request) -> web.Response:
        """Return the figures of some days."""
        require_role(request, "expert")
        asked = query_of(request, InsightSearch)
        now = self.clock()
        today = now.astimezone(self.views.zone).date()
        last = min(asked.until or today, today)
        first = asked.since or last - timedelta(days=_DEFAULT_DAYS - 1)
        if not 0 <= (last - first).days < _MOST_DAYS:
            cure = f"Send a day up to {last}, at most {_MOST_DAYS} days before the last one."
            raise invalid_field("since", str(first), "is no first day of these", cure)
        scope = Scope(group_key(asked.channel), group_key(asked.space), asked.intent or None)
        span = span_of(first, last, now, self.views.zone)
        found = await self.views.of(span, scope, await principals_of(request, self.tenant))
        return json_reply(_reply(found, first, last, str(self.views.zone)))


def _reply(found: Insights, first: date, last: date, zone: str) -> InsightsReply:
    figures = found.figures
    days = [
        DayOfQuestions(day=each.day, up=each.up, down=each.down, **_counts(each.questions))
        for each in figures.days
    ]
    pages = [StalePage(page=page_of(each.page), answers=each.answers) for each in found.stale]
    return InsightsReply(
        since=first,
        until=last,
        time_zone=zone,
        questions=QuestionCounts(**_counts(figures.total)),
        days=days,
        channels=_groups(found, "channel"),
        spaces=_groups(found, "space"),
        intents=_groups(found, "intent"),
        answering=_times(figures.answering),
        claiming=_times(figures.claiming),
        resolving=_times(figures.resolving),
        cost_usd=sum(each.cost_usd for each in found.costs),
        unpriced_calls=sum(each.unpriced_calls for each in found.costs),
        experts=[_expert(each) for each in found.experts],
        stale_pages=None if found.blind else pages,
        shortened=figures.shortened,
    )


def _groups(found: Insights, grouping: Grouping) -> list[GroupOfQuestions]:
    groups = found.figures.groups.get(grouping, {})
    return [GroupOfQuestions(key=key or NONE, **_counts(each)) for key, each in groups.items()]


def _counts(tally: Tally) -> dict[str, object]:
    return {
        "asked": tally.asked,
        "answered": tally.of("answered"),
        "partial": tally.partial,
        "unsure": tally.of("unsure"),
        "handed_over": tally.of("escalated"),
        "offered": tally.of("offered"),
        "asked_back": tally.of("clarified"),
        "general": tally.of("generic"),
        "refused": tally.of("refused"),
        "open": tally.of("open"),
        "silent": tally.of("silent"),
        "deflection": tally.deflection,
    }


def _times(of: Percentiles) -> Times:
    return Times(count=of.count, p50=of.p50, p95=of.p95) if of.count else _NOT_TIMED


_NOT_TIMED = Times(count=0, p50=None, p95=None)


def _expert(load: ExpertLoad) -> Expert:
    return Expert(
        id=load.id,
        name=load.name,
        held=load.held,
        claimed=load.claimed,
        answered=load.answered,
        resolved=load.resolved,
        replying=_times(load.replying),
    )
