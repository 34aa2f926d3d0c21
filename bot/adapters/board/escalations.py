"""The list of the questions that went to people; it keeps itself up to date."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import aiohttp_jinja2
from aiohttp import web

from bot.adapters.board import paging
from bot.adapters.board.filters import Fields
from bot.adapters.board.frame import show
from bot.adapters.board.queue import Queue, case_lines, empty, queue_query, tab_of, tab_views
from bot.domain.cases import Case, actor_of
from bot.domain.record_search import Searches
from bot.domain.types import InteractionId, Person
from bot.doors.identity import needs
from bot.escalations.ports import Cases

PATH = "/board/escalations"
LIST = "/board/escalations/list"


class Escalations:
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
        app.router.add_get(LIST, self.fragment)

    async def page(self, request: web.Request) -> web.Response:
        """Show the list."""
        person = needs(request, "expert")
        return show(request, "board/escalations.html", await self._context(request, person))

    async def fragment(self, request: web.Request) -> web.Response:
        """Return the list alone; nothing (204) when it is as the page shows it already."""
        person = needs(request, "expert")
        context = await self._context(request, person)
        if request.query.get("seen") == context["seen"]:
            return web.Response(status=204)
        return aiohttp_jinja2.render_template("board/queue.html", request, context)

    async def _context(self, request: web.Request, person: Person) -> dict[str, object]:
        fields = Fields(request.query)
        tab, looked_for = tab_of(fields.text("state")), fields.text("words")
        after = await self._after(request.query.get("after", ""))
        own = actor_of(person, "expert").id
        query = queue_query(tab, looked_for, own)
        found = await self._cases.find(self._tenant, query, limit=paging.SIZE + 1, after=after)
        counts = await self._searches.case_counts(self._tenant, own)
        kept = {"state": tab.name, "words": looked_for}
        lines = case_lines(found[: paging.SIZE], self._clock(), self._patience)
        shown = Queue(
            tabs=tab_views(PATH, tab, counts, looked_for),
            lines=lines,
            empty=empty(tab, looked_for),
            first=paging.link(PATH, kept) if after is not None else "",
            more=_more(found, kept),
        )
        seen = hashlib.sha256(repr(shown).encode()).hexdigest()[:16]
        again = {**kept, "after": after.interaction_id if after else "", "seen": seen}
        return {
            "queue": shown,
            "tab": tab,
            "looked_for": looked_for,
            "seen": seen,
            "refresh": paging.link(LIST, again),
        }

    async def _after(self, case_id: str) -> Case | None:
        """Return the case that a page ended with; an unknown one is the beginning."""
        if not case_id:
            return None
        return await self._cases.get(self._tenant, InteractionId(case_id))


def _more(found: Sequence[Case], kept: dict[str, str]) -> str:
    if len(found) <= paging.SIZE:
        return ""
    return paging.link(PATH, kept, after=found[paging.SIZE - 1].interaction_id)
