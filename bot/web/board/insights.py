"""Board page of figures of any days, by channel, space and intent; also as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from aiohttp import web

from bot.domain.record_reports import (
    GROUPINGS,
    MOST_CASES,
    MOST_QUESTIONS,
    Figures,
    Grouping,
    Percentiles,
    QuestionKind,
    Scope,
    Tally,
    UsageSum,
    span_of,
)
from bot.domain.texts import join_texts, tr, trn
from bot.domain.texts.dates import days_text, duration
from bot.escalations.lifecycle import display_name
from bot.learning.insights import (
    DEFINITIONS,
    NONE,
    CitedPage,
    ExpertLoad,
    Insights,
    InsightViews,
    Measure,
    group_key,
)
from bot.web.auth.identity import principals_of, require_role
from bot.web.board import labels
from bot.web.board.day_charts import OUTCOMES, charts_of
from bot.web.board.figures import count, percent, usd
from bot.web.board.layout import (
    SPANS,
    Choice,
    FilterForm,
    csv_response,
    list_link,
    render_page,
    utc_now,
)
from bot.web.board.overview import slowest
from bot.web.pages.safe_html import openable

PATH = "/board/insights"
CSV_PATH = f"{PATH}.csv"
DEFAULT_DAYS = 30
MOST_DAYS = 3_660
MOST_GROUPS = 20

_GROUP_NAMES: Mapping[Grouping, str] = {
    "channel": tr("Channel"),
    "space": tr("Space"),
    "intent": tr("Interpreted as"),
}
_BY: Mapping[str, str] = {
    "day": tr("day"),
    "channel": tr("channel"),
    "space": tr("space"),
    "intent": tr("intent"),
}
SHORTENED = tr(
    "Only the newest {questions} questions, the newest {questions} votes and {cases} cases of "
    "this period are counted.",
    questions=MOST_QUESTIONS,
    cases=MOST_CASES,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with its definition, and what it is to be seen against."""

    name: str
    value: str
    definition: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The questions of one channel, space or intent."""

    name: str
    href: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Days (both included) and scope that a request asks for."""

    first: date
    last: date
    scope: Scope
    troubles: tuple[str, ...]

    def fields(self) -> dict[str, str]:
        """Return the address' fields."""
        return {
            "since": self.first.isoformat(),
            "until": self.last.isoformat(),
            **{name: _token(getattr(self.scope, name)) for name in GROUPINGS},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsPage:
    """Handlers of the page and of the CSV."""

    tenant: str
    views: InsightViews
    clock: Callable[[], datetime] = utc_now

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.page)
        app.router.add_get(CSV_PATH, self.csv)

    async def page(self, request: web.Request) -> web.Response:
        """Show the figures of the days of the query string."""
        require_role(request, "expert")
        wanted = self._wanted(request)
        found = await self._found(request, wanted)
        fields = wanted.fields()
        context = {
            "fields": fields,
            "troubles": wanted.troubles,
            "spans": self._spans(wanted, request),
            "narrowed": wanted.scope != Scope(),
            "scope": _scope_text(wanted.scope),
            "all": list_link(PATH, fields, **dict.fromkeys(GROUPINGS, "")),
            "zone": str(self.views.zone),
            "csv": {name: list_link(CSV_PATH, fields, by=each) for each, name in _BY.items()},
            "shortened": SHORTENED if found.figures.shortened else "",
            "words": labels,
            "href_of": openable,
            "definitions": DEFINITIONS,
            **_figures_context(found, fields),
        }
        return render_page(request, "board/insights.html", context)

    async def csv(self, request: web.Request) -> web.Response:
        """Return the questions by day, channel, space or intent as a CSV file."""
        require_role(request, "expert")
        wanted = self._wanted(request)
        by = FilterForm(request.query).among("by", GROUPINGS)
        figures = (await self._found(request, wanted)).figures
        if by is None:
            rows = [(str(day.day), day.questions) for day in figures.days]
        else:
            rows = [(key or NONE, each) for key, each in figures.groups[by].items()]
        name = f"frontdesk-insights-by-{by or 'day'}-{wanted.first}-to-{wanted.last}.csv"
        columns = (by or "day", "asked", *OUTCOMES, "partial", "silent", "needed", "deflected")
        return csv_response(name, columns, (_csv_row(key, each) for key, each in rows))

    async def _found(self, request: web.Request, wanted: Wanted) -> Insights:
        span = span_of(wanted.first, wanted.last, self.clock(), self.views.zone)
        readers = await principals_of(request, self.tenant)
        return await self.views.of(span, wanted.scope, readers)

    def _wanted(self, request: web.Request) -> Wanted:
        fields = FilterForm(request.query)
        today = self.clock().astimezone(self.views.zone).date()
        given = fields.among("days", tuple(map(str, SPANS)))
        first, last = fields.day("since", tr("First day")), fields.day("until", tr("Last day"))
        end = min(last.date(), today) if last else today
        begin = first.date() if first else end - timedelta(days=int(given or DEFAULT_DAYS) - 1)
        if begin > end:
            fields.troubles.append(
                tr("The first day must not be in the future or after the last day.")
            )
            begin = end
        if (end - begin).days >= MOST_DAYS:
            fields.troubles.append(
                tr("Only the last {days} days of this period are counted.", days=MOST_DAYS)
            )
            begin = end - timedelta(days=MOST_DAYS - 1)
        scope = Scope(*(group_key(fields.text(name)) for name in GROUPINGS))
        return Wanted(begin, end, scope, tuple(fields.troubles))

    def _spans(self, wanted: Wanted, request: web.Request) -> Sequence[Choice]:
        today = self.clock().astimezone(self.views.zone).date()
        chosen = (wanted.last - wanted.first).days + 1 if wanted.last == today else 0
        kept: dict[str, str] = {name: FilterForm(request.query).text(name) for name in GROUPINGS}
        return [
            Choice(days_text(each), list_link(PATH, kept, days=str(each)), each == chosen)
            for each in SPANS
        ]


def channel_name(key: str) -> str:
    """Return the label of a channel; private conversations are one."""
    return labels.place(key, private=False) if key else tr("Direct messages")


def group_name(grouping: Grouping, key: str) -> str:
    """Return the label of a channel, space or intent."""
    if grouping == "channel":
        return channel_name(key)
    if grouping == "space":
        return key or tr("No page found")
    return next((name for each, name in labels.INTENTS.items() if each == key), tr("In progress"))


def _scope_text(scope: Scope) -> str:
    """Return the labels of what the figures are narrowed down to."""
    chosen = ((each, getattr(scope, each)) for each in GROUPINGS)
    return join_texts(", ", (group_name(each, key) for each, key in chosen if key is not None))


def _figures_context(found: Insights, fields: Mapping[str, str]) -> dict[str, object]:
    figures = found.figures
    return {
        "tiles": _tiles(figures, found.costs),
        "outcomes": list(_outcomes(figures.total)),
        "charts": charts_of(figures, found.costs) if figures.asked else (),
        "times": _times(figures),
        "groups": [
            (each, _GROUP_NAMES[each], *_group_rows(figures, each, fields)) for each in GROUPINGS
        ],
        "experts": list(map(_expert_row, found.experts)),
        "stale": [(each, _age(each, figures.span.until)) for each in found.stale],
        "blind": found.blind,
    }


def _tiles(figures: Figures, costs: Sequence[UsageSum]) -> Sequence[Figure]:
    total, took = figures.total, figures.answering
    unpriced = sum(each.unpriced_calls for each in costs)
    thumbs = figures.up + figures.down
    left = ""
    if unpriced:
        left = trn("{n} call with unknown price", "{n} calls with unknown price", unpriced)
    return [
        Figure(tr("Questions"), count(total.asked), DEFINITIONS["asked"]),
        Figure(
            tr("Answered without a person"), percent(total.deflection), DEFINITIONS["deflection"]
        ),
        Figure(tr("Handed over"), count(total.of("escalated")), DEFINITIONS["handed_over"]),
        Figure(
            tr("Median response time"),
            duration(took.p50) if took.count else percent(None),
            DEFINITIONS["answering"],
            slowest(took),
        ),
        Figure(
            tr("Thumbs up"),
            percent(figures.up / thumbs if thumbs else None),
            DEFINITIONS["thumbs"],
            tr("{ups} up, {downs} down", ups=figures.up, downs=figures.down),
        ),
        Figure(
            tr("Model cost"), usd(sum(each.cost_usd for each in costs)), DEFINITIONS["cost"], left
        ),
    ]


def _outcomes(total: Tally) -> Iterator[tuple[str, str, str, str]]:
    """Yield label, number, share of the asked, and definition of what became of questions."""

    def row(label: str, number: int, measure: Measure) -> tuple[str, str, str, str]:
        share = percent(number / total.asked) if total.asked else percent(None)
        return label, count(number), share, DEFINITIONS[measure]

    for kind, (label, measure) in OUTCOMES.items():
        yield row(label, total.of(kind), measure)
        if kind == "answered":
            yield row(tr("of which partially"), total.partial, "partial")
    yield tr("Ignored"), count(total.of("silent")), "", DEFINITIONS["silent"]


def _times(figures: Figures) -> Sequence[tuple[str, str, str, str, str]]:
    """Return name, number, median, 95th percentile and definition of each time that was taken."""
    timed: Sequence[tuple[str, Percentiles, Measure]] = (
        (tr("From question to answer"), figures.answering, "answering"),
        (tr("From opening a case to claiming it"), figures.claiming, "claiming"),
        (tr("From opening a case to the first reply"), figures.replying, "claiming"),
        (tr("From opening a case to resolving it"), figures.resolving, "resolving"),
    )
    return [
        (name, count(each.count), duration(each.p50), duration(each.p95), DEFINITIONS[measure])
        for name, each, measure in timed
        if each.count
    ]


def _group_rows(
    figures: Figures, grouping: Grouping, fields: Mapping[str, str]
) -> tuple[Sequence[GroupRow], int]:
    """Return the rows of a grouping, the most asked first, and how many are left out."""
    found = list(figures.groups.get(grouping, {}).items())
    rows = [
        GroupRow(
            group_name(grouping, key),
            list_link(PATH, fields, **{grouping: key or NONE}),
            _cells(each),
        )
        for key, each in found[:MOST_GROUPS]
    ]
    return rows, len(found) - len(rows)


def _cells(tally: Tally) -> tuple[str, ...]:
    shown: tuple[QuestionKind, ...] = ("answered", "unsure", "escalated", "offered")
    numbers = [tally.asked, tally.of("answered"), tally.partial]
    numbers += [tally.of(kind) for kind in shown[1:]]
    other = tally.asked - sum(tally.of(kind) for kind in shown)
    return (*map(count, numbers), count(other), percent(tally.deflection))


def _expert_row(load: ExpertLoad) -> tuple[str, str, tuple[str, ...]]:
    """Return an expert's id, name and figures."""
    numbers = map(count, (load.held, load.claimed, load.answered, load.resolved))
    took = duration(load.replying.p50) if load.replying.count else percent(None)
    return load.id, display_name(load.name) if load.name else "", (*numbers, took)


def _age(cited: CitedPage, at: datetime) -> str:
    changed = cited.page.updated_at
    return "" if changed is None else duration((at - changed).total_seconds())


def _csv_row(key: str, tally: Tally) -> tuple[object, ...]:
    kinds = (tally.of(kind) for kind in OUTCOMES)
    return (
        key,
        tally.asked,
        *kinds,
        tally.partial,
        tally.of("silent"),
        tally.needed,
        tally.deflected,
    )


def _token(key: str | None) -> str:
    return "" if key is None else key or NONE
