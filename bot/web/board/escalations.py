"""The board's list of escalations, in tabs, which refreshes itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import aiohttp_jinja2
from aiohttp import web

from bot.domain.cases import Case, CaseQuery, State, actor_of
from bot.domain.messages import InteractionId, Person
from bot.domain.record_search import CaseCounts
from bot.domain.texts import join_texts, tr
from bot.escalations.lifecycle import OWNED, SETTLED, WAITING, display_name
from bot.escalations.ports import Cases
from bot.store.search import StoredSearches
from bot.web.auth.identity import require_role
from bot.web.board import labels, layout
from bot.web.board.layout import FilterForm, render_page


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of the list: the cases in ``states`` (empty: in any), or only the reader's ``own``."""

    name: str
    label: str
    states: frozenset[State] = frozenset()
    own: bool = False


TABS = (
    Tab("waiting", tr("Waiting"), WAITING),
    Tab("mine", tr("Mine"), OWNED, own=True),
    Tab("claimed", tr("Claimed"), frozenset({"claimed"})),
    Tab("answered", tr("Answered"), frozenset({"answered"})),
    Tab("settled", tr("Closed"), SETTLED),
    Tab("all", tr("All")),
)

_EMPTY_TEXTS: Mapping[str, str] = {
    "waiting": tr("Nothing is waiting. Questions handed over to people appear here."),
    "mine": tr("You have no questions. Claim one from the Waiting tab."),
    "claimed": tr("Nobody is working on a question."),
    "answered": tr("No answers are waiting for feedback from the asker."),
    "settled": tr("Nothing has been closed yet."),
    "all": tr("No questions have been handed over yet."),
}


@dataclass(frozen=True, slots=True)
class TabView:
    """A tab with its number of cases."""

    name: str
    label: str
    href: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A row of the list; ``late`` when the case waits longer than the reminder period."""

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
    """The list with its tabs; ``empty`` is the text shown when it has no lines."""

    tabs: tuple[TabView, ...]
    lines: tuple[CaseLine, ...]
    empty: str = ""
    first: str = ""
    more: str = ""


def tab_of(name: str) -> Tab:
    """Return the tab of a name, or the first tab."""
    return next((tab for tab in TABS if tab.name == name), TABS[0])


def queue_query(tab: Tab, looked_for: str, person_id: str) -> CaseQuery:
    """Return the query of a tab: waiting cases oldest first, settled and all newest first."""
    return CaseQuery(
        states=tab.states,
        owner_id=person_id if tab.own else "",
        words=looked_for,
        newest_first=tab.name in {"settled", "all"},
        leading=True,
    )


def tab_views(path: str, chosen: Tab, counts: CaseCounts, looked_for: str) -> tuple[TabView, ...]:
    """Return the tabs with their counts; their links keep the search words."""
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
    """Return the rows of a list."""
    return tuple(_case_line(case, now, patience) for case in cases)


def empty_text(tab: Tab, looked_for: str) -> str:
    """Return the text of an empty list."""
    return tr("No matching questions.") if looked_for else _EMPTY_TEXTS[tab.name]


def state_label(case: Case, now: datetime) -> str:
    """Return a case's state in words, with its waiting time or its owner."""
    state = case.status.state
    if state in WAITING:
        return join_texts(", ", (labels.STATES[state], labels.age(now - case.opened_at)))
    if not case.status.owner_id:
        return labels.STATES[state]
    return tr(
        "{state} by {who}",
        state=labels.STATES[state],
        who=display_name(case.status.owner_name),
    )


def time_in_state(case: Case, now: datetime) -> str:
    """Return how long ago a case entered its state; empty for a waiting one."""
    waits = case.status.state in WAITING
    return "" if waits else labels.ago(now - case.changed_at)


def is_late(case: Case, now: datetime, patience: timedelta) -> bool:
    """Return whether a case waits longer than the reminder period."""
    return case.status.state in WAITING and waits_too_long(case.opened_at, now, patience)


def waits_too_long(since: datetime, now: datetime, patience: timedelta) -> bool:
    """Return whether what has waited since then is due for a reminder; never with a period of 0."""
    return bool(patience) and now - since > patience


def _case_line(case: Case, now: datetime, patience: timedelta) -> CaseLine:
    return CaseLine(
        id=case.interaction_id,
        question=labels.one_line(case.question),
        who=labels.asker(case),
        place=labels.place(case.channel, private=case.private),
        reason=labels.REASONS[case.reason],
        state=case.status.state,
        label=state_label(case, now),
        age=time_in_state(case, now),
        late=is_late(case, now, patience),
        opened_at=case.opened_at,
    )


PATH = "/board/escalations"
LIST_PATH = "/board/escalations/list"


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationsPage:
    """Handlers of the list.

    Args:
        tenant: The tenant whose cases are listed.
        cases: The store of cases.
        searches: Counts cases by state.
        patience: How long a case may wait before it is shown as late; zero: for ever.
        clock: Returns the current time.
    """

    tenant: str
    cases: Cases
    searches: StoredSearches
    patience: timedelta
    clock: Callable[[], datetime]

    def mount(self, app: web.Application) -> None:
        """Add the routes. Call it before those of single cases, which would match the list's."""
        app.router.add_get(PATH, self.page)
        app.router.add_get(LIST_PATH, self.fragment)

    async def page(self, request: web.Request) -> web.Response:
        """Show the list."""
        person = require_role(request, "expert")
        return render_page(request, "board/escalations.html", await self._context(request, person))

    async def fragment(self, request: web.Request) -> web.Response:
        """Return the list's HTML alone; 204 if it equals what the page shows."""
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
        found = await self.cases.find(self.tenant, query, limit=layout.PAGE_SIZE + 1, after=after)
        counts = await self.searches.case_counts(self.tenant, own)
        kept = {"state": tab.name, "words": looked_for}
        lines = case_lines(found[: layout.PAGE_SIZE], self.clock(), self.patience)
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
        """Return the last case of the previous page; None (the first page) for an unknown id."""
        if not case_id:
            return None
        return await self.cases.get(self.tenant, InteractionId(case_id))


def _next_page(found: Sequence[Case], kept: dict[str, str]) -> str:
    if len(found) <= layout.PAGE_SIZE:
        return ""
    return layout.list_link(PATH, kept, after=found[layout.PAGE_SIZE - 1].interaction_id)
