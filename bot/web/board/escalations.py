"""The list of questions that went to people, in tabs; it keeps itself up to date."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import aiohttp_jinja2
from aiohttp import web

from bot.domain.cases import Case, CaseQuery, State, actor_of
from bot.domain.messages import InteractionId, Person
from bot.domain.record_search import CaseCounts, Searches
from bot.escalations.lifecycle import OWNED, SETTLED, WAITING, display_name
from bot.escalations.ports import Cases
from bot.web.auth.identity import require_role
from bot.web.board import labels, layout
from bot.web.board.layout import FilterForm, render_page


@dataclass(frozen=True, slots=True)
class Tab:
    """Some of the cases: those in ``states`` (none: in any), or those that one has ``own``."""

    name: str
    label: str
    states: frozenset[State] = frozenset()
    own: bool = False


TABS = (
    Tab("waiting", "Waiting", WAITING),
    Tab("mine", "Mine", OWNED, own=True),
    Tab("claimed", "Claimed", frozenset({"claimed"})),
    Tab("answered", "Answered", frozenset({"answered"})),
    Tab("settled", "Settled", SETTLED),
    Tab("all", "All"),
)

_EMPTY_TEXTS: Mapping[str, str] = {
    "waiting": "Nobody waits. When a question goes to people, it appears here.",
    "mine": "You have no question. Claim one of those that wait.",
    "claimed": "Nobody is working on a question.",
    "answered": "No answer waits for its asker to say whether it helped.",
    "settled": "Nothing is settled yet.",
    "all": "No question has gone to people yet.",
}


@dataclass(frozen=True, slots=True)
class TabView:
    """A tab with how many cases it has."""

    name: str
    label: str
    href: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case in the list; ``late`` when it waits longer than until people are reminded."""

    id: str
    question: str
    who: str
    place: str
    reason: str
    state: State
    label: str
    age: str
    late: bool
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Queue:
    """The list with its tabs; ``empty`` is what is said where it has no line."""

    tabs: tuple[TabView, ...]
    lines: tuple[CaseLine, ...]
    empty: str = ""
    first: str = ""
    more: str = ""


def tab_of(name: str) -> Tab:
    """Return the tab of that name, else the first."""
    return next((tab for tab in TABS if tab.name == name), TABS[0])


def queue_query(tab: Tab, looked_for: str, person_id: str) -> CaseQuery:
    """Return which cases a tab lists: what waits, oldest first; what is over, newest first."""
    return CaseQuery(
        states=tab.states,
        owner_id=person_id if tab.own else "",
        words=looked_for,
        newest_first=tab.name in {"settled", "all"},
    )


def tab_views(path: str, chosen: Tab, counts: CaseCounts, looked_for: str) -> tuple[TabView, ...]:
    """Return the tabs with their counts; the words that are looked for stay."""
    return tuple(
        TabView(
            name=tab.name,
            label=tab.label,
            href=layout.list_link(path, {"state": tab.name, "words": looked_for}),
            count=counts.own if tab.own else counts.among(tab.states),
            chosen=tab is chosen,
        )
        for tab in TABS
    )


def case_lines(cases: Sequence[Case], now: datetime, patience: timedelta) -> tuple[CaseLine, ...]:
    """Return the lines of a list."""
    return tuple(_case_line(case, now, patience) for case in cases)


def empty_text(tab: Tab, looked_for: str) -> str:
    """Say why a list has no line."""
    return (
        "None of these questions has all of these words." if looked_for else _EMPTY_TEXTS[tab.name]
    )


def state_label(case: Case, now: datetime) -> str:
    """Say how a case stands: how long it waits, or who has or had it."""
    state = case.standing.state
    if state in WAITING:
        return f"{labels.STATES[state]}, {labels.age(now - case.opened_at)}"
    if not case.standing.owner_id:
        return labels.STATES[state]
    return f"{labels.STATES[state]} by {display_name(case.standing.owner_name)}"


def time_in_state(case: Case, now: datetime) -> str:
    """Say when a case came to stand as it does; nothing for one that waits."""
    waits = case.standing.state in WAITING
    return "" if waits else f"{labels.age(now - case.changed_at)} ago"


def is_late(case: Case, now: datetime, patience: timedelta) -> bool:
    """Tell whether a case waits longer than until people are reminded."""
    waits = case.standing.state in WAITING
    return waits and bool(patience) and now - case.opened_at > patience


def _case_line(case: Case, now: datetime, patience: timedelta) -> CaseLine:
    return CaseLine(
        id=case.interaction_id,
        question=labels.one_line(case.question),
        who=labels.asker(case),
        place=labels.place(case.channel, private=case.private),
        reason=labels.REASONS[case.reason],
        state=case.standing.state,
        label=state_label(case, now),
        age=time_in_state(case, now),
        late=is_late(case, now, patience),
        opened_at=case.opened_at,
    )


PATH = "/board/escalations"
LIST_PATH = "/board/escalations/list"


class EscalationsPage:
    """Handlers of the list.

    Args:
        tenant: whose cases.
        cases: the cases themselves.
        searches: how many there are of each kind.
        patience: how long a case may wait before its age is shown as too long; zero: for ever.
        clock: the time.
    """

    def __init__(
        self,
        *,
        tenant: str,
        cases: Cases,
        searches: Searches,
        patience: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self._tenant = tenant
        self._cases = cases
        self._searches = searches
        self._patience = patience
        self._clock = clock

    def mount(self, app: web.Application) -> None:
        """Add the routes; before those of single cases."""
        app.router.add_get(PATH, self.page)
        app.router.add_get(LIST_PATH, self.fragment)

    async def page(self, request: web.Request) -> web.Response:
        """Show the list."""
        person = require_role(request, "expert")
        return render_page(request, "board/escalations.html", await self._context(request, person))

    async def fragment(self, request: web.Request) -> web.Response:
        """Return the list alone; nothing (204) when it is as the page shows it already."""
        person = require_role(request, "expert")
        context = await self._context(request, person)
        if request.query.get("seen") == context["seen"]:
            return web.Response(status=204)
        return aiohttp_jinja2.render_template("board/queue.html", request, context)

    async def _context(self, request: web.Request, person: Person) -> dict[str, object]:
        fields = FilterForm(request.query)
        tab, looked_for = tab_of(fields.text("state")), fields.text("words")
        after = await self._after(request.query.get("after", ""))
        own = actor_of(person, "expert").id
        query = queue_query(tab, looked_for, own)
        found = await self._cases.find(self._tenant, query, limit=layout.PAGE_SIZE + 1, after=after)
        counts = await self._searches.case_counts(self._tenant, own)
        kept = {"state": tab.name, "words": looked_for}
        lines = case_lines(found[: layout.PAGE_SIZE], self._clock(), self._patience)
        shown = Queue(
            tabs=tab_views(PATH, tab, counts, looked_for),
            lines=lines,
            empty=empty_text(tab, looked_for),
            first=layout.list_link(PATH, kept) if after is not None else "",
            more=_next_page(found, kept),
        )
        seen = hashlib.sha256(repr(shown).encode()).hexdigest()[:16]
        again = {**kept, "after": after.interaction_id if after else "", "seen": seen}
        return {
            "queue": shown,
            "tab": tab,
            "looked_for": looked_for,
            "seen": seen,
            "refresh": layout.list_link(LIST_PATH, again),
        }

    async def _after(self, case_id: str) -> Case | None:
        """Return the case that a page ended with; an unknown one is the beginning."""
        if not case_id:
            return None
        return await self._cases.get(self._tenant, InteractionId(case_id))


def _next_page(found: Sequence[Case], kept: dict[str, str]) -> str:
    if len(found) <= layout.PAGE_SIZE:
        return ""
    return layout.list_link(PATH, kept, after=found[layout.PAGE_SIZE - 1].interaction_id)
