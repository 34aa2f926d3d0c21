"""Board pages of gaps: what the wiki lacks, by what people ask; also as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from bot.domain.record_reports import last_days
from bot.domain.texts import tr
from bot.domain.texts.dates import days_text, long_date
from bot.learning.gap_views import GapViews, NearPage, SetsGapStates, ShownGap
from bot.learning.gaps import CHOSEN_STATES, GAP_STATES, ChosenState, GapQuery, GapState
from bot.web.auth.identity import require_role, viewer_of
from bot.web.board import labels, layout
from bot.web.board.figures import compared
from bot.web.board.layout import FilterForm, audit_name, csv_response, render_page, utc_now
from bot.web.pages.safe_html import openable
from bot.web.problems import Problem, problem

PATH = "/board/gaps"
CSV_PATH = f"{PATH}.csv"
MOST_ROWS = 1_000
"""Rows of the CSV."""

DEFAULT_DAYS = 30
RECENT = "recent"
OPEN = "open"
OPEN_STATES: frozenset[GapState] = frozenset({"new", "taken", "page_written"})
STATE_LABELS: Mapping[GapState, str] = {
    "new": tr("New"),
    "taken": tr("In progress"),
    "page_written": tr("Page written"),
    "not_ours": tr("Out of scope"),
    "closed": tr("Closed"),
}
ACTS: Mapping[ChosenState, str] = {
    "taken": tr("Start work"),
    "page_written": tr("Page written"),
    "not_ours": tr("Out of scope"),
    "new": tr("Put back"),
}
UNNAMED = tr("Wording hidden from you")
_COLUMNS = (
    "gap",
    "name",
    "state",
    "state_by",
    "state_at",
    "questions",
    "people",
    "questions_before",
    "last_asked_at",
    "pages",
    "owners",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapPages:
    """Handlers of the list, of one gap, and of the CSV."""

    tenant: str
    views: GapViews
    states: SetsGapStates
    clock: Callable[[], datetime] = utc_now

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.list)
        app.router.add_get(CSV_PATH, self.csv)
        app.router.add_get(f"{PATH}/{{id}}", self.one)
        app.router.add_post(f"{PATH}/{{id}}", self.act)

    async def list(self, request: web.Request) -> web.Response:
        """List gaps, most asked or latest first, filtered by the query string."""
        require_role(request, "expert")
        fields, days = FilterForm(request.query), layout.days_asked_for(request, DEFAULT_DAYS)
        offset = _offset(fields)
        found = await self.views.listed(
            self._query(fields, days),
            await viewer_of(request, self.tenant),
            limit=layout.PAGE_SIZE,
            offset=offset,
        )
        kept = _kept_fields(fields, days)
        more = "" if found.next is None else layout.list_link(PATH, kept, after=str(found.next))
        spans = [
            layout.Choice(
                days_text(each), layout.list_link(PATH, kept, days=str(each)), each == days
            )
            for each in layout.SPANS
        ]
        context = {
            "found": found.gaps,
            "fields": kept,
            "days": days,
            "spans": spans,
            "states": [(OPEN, tr("Open")), *STATE_LABELS.items(), ("all", tr("All"))],
            "narrowed": bool(kept["words"]) or kept["state"] != OPEN,
            "first": layout.list_link(PATH, kept) if offset else "",
            "more": more,
            "csv": layout.list_link(CSV_PATH, kept),
            **_shared_context(),
        }
        return render_page(request, "board/gaps.html", context)

    async def one(self, request: web.Request) -> web.Response:
        """Show a gap with the questions that the viewer may see, and what can be said of it."""
        require_role(request, "expert")
        days = layout.days_asked_for(request, DEFAULT_DAYS)
        details = await self.views.one(
            request.match_info["id"],
            last_days(self.clock(), days),
            await viewer_of(request, self.tenant),
        )
        if details is None:
            raise _not_found()
        state = details.gap.summary.state
        context = {
            "gap": details.gap,
            "details": details,
            "days": days,
            "acts": [(each, name) for each, name in ACTS.items() if each != state],
            **_shared_context(),
        }
        return render_page(request, "board/gap.html", context)

    async def act(self, request: web.Request) -> web.Response:
        """Set the state that was chosen, with an audit entry."""
        person = require_role(request, "expert")
        given = str((await request.post()).get("state", ""))
        state = next((each for each in CHOSEN_STATES if each == given), None)
        if state is None:
            raise problem(422, tr("There is no status “{name}”.", name=given[:40]))
        gap, name = request.match_info["id"], audit_name(person)
        actor = f"board:{person.id}"
        if not await self.states.set_state(self.tenant, gap, state, actor=actor, name=name):
            raise _not_found()
        raise web.HTTPSeeOther(f"{PATH}/{gap}")

    async def csv(self, request: web.Request) -> web.Response:
        """Return the same list as a CSV file."""
        require_role(request, "expert")
        fields, days = FilterForm(request.query), layout.days_asked_for(request, DEFAULT_DAYS)
        viewer, query = await viewer_of(request, self.tenant), self._query(fields, days)
        gaps: list[ShownGap] = []
        place: int | None = 0
        while place is not None and len(gaps) < MOST_ROWS:
            found = await self.views.listed(query, viewer, limit=layout.PAGE_SIZE, offset=place)
            gaps += found.gaps
            place = found.next
        name = f"frontdesk-gaps-{days}-days-to-{self.clock():%Y-%m-%d}.csv"
        return csv_response(name, _COLUMNS, map(_row, gaps[:MOST_ROWS]))

    def _query(self, fields: FilterForm, days: int) -> GapQuery:
        return GapQuery(
            span=last_days(self.clock(), days),
            states=_states(fields),
            words=fields.text("words"),
            recent_first=fields.text("order") == RECENT,
        )


def name_of(gap: ShownGap) -> str:
    """Return a gap's name; without one what it is near."""
    if gap.name or not gap.pages:
        return gap.name or UNNAMED
    return tr("Wording hidden from you, close to “{page}”", page=gap.pages[0].title)


def trend(gap: ShownGap) -> str:
    """Return a gap's number of questions against the span before, in words."""
    now, before = gap.summary.questions, gap.summary.before
    if not before:
        return tr("none before")
    if now == before:
        return tr("the same as before")
    return tr("{difference} than before", difference=compared(now, before))


def state_text(gap: ShownGap) -> str:
    """Return a gap's state, with who set it."""
    summary = gap.summary
    state = STATE_LABELS[summary.state]
    if not summary.state_by or summary.state == "new":
        return state
    return tr("{state} by {who}", state=state, who=summary.state_by)


def answered_text(gap: ShownGap) -> str:
    """Return since when a closed gap is answered, and by which page."""
    date = long_date(gap.summary.state_at)
    if gap.answered_by is None:
        return tr("answered since {date}", date=date)
    return tr("answered since {date} by “{page}”", date=date, page=gap.answered_by.title)


def _shared_context() -> dict[str, object]:
    return {
        "words": labels,
        "name_of": name_of,
        "trend": trend,
        "state_text": state_text,
        "answered_text": answered_text,
        "href_of": openable,
    }


def _states(fields: FilterForm) -> frozenset[GapState]:
    """Return the states of the filter; the open ones by default."""
    if fields.text("state") == "all":
        return frozenset()
    chosen = fields.among("state", GAP_STATES)
    return OPEN_STATES if chosen is None else frozenset({chosen})


def _kept_fields(fields: FilterForm, days: int) -> dict[str, str]:
    known = {*GAP_STATES, "all"}
    state = fields.text("state")
    return {
        "words": fields.text("words"),
        "state": state if state in known else OPEN,
        "order": RECENT if fields.text("order") == RECENT else "",
        "days": str(days),
    }


def _offset(fields: FilterForm) -> int:
    given = fields.text("after")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0  # noqa: PLR2004 - digits


def _row(gap: ShownGap) -> tuple[object, ...]:
    summary = gap.summary
    last = summary.last_at.isoformat() if summary.last_at else ""
    return (
        summary.id,
        gap.name,
        f"closed: {answered_text(gap)}" if summary.state == "closed" else summary.state,
        summary.state_by,
        summary.state_at.isoformat(),
        summary.questions,
        summary.people,
        summary.before,
        last,
        "; ".join(map(_page_text, gap.pages)),
        "; ".join(dict.fromkeys(page.owner for page in gap.pages if page.owner)),
    )


def _page_text(page: NearPage) -> str:
    return f"{page.title} ({page.space})"


def _not_found() -> Problem:
    return problem(404, tr("This gap no longer exists."))
