"""One's own conversations: listed by day, searched, deleted."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import aiohttp_jinja2
from aiohttp import web

from bot.adapters.web.days import zone_of
from bot.adapters.web.exchanges import Exchanges, known_uuid, wants_fragment
from bot.adapters.web.listing import LISTED, Asked, Listing, listing_of
from bot.adapters.web.ports import Identify, Threads
from bot.domain.ports import Inbox
from bot.domain.types import Thread

COOKIE = "frontdesk_conversation"
"""The conversation that a browser has open."""

EAST, FOLDED = "frontdesk_east", "frontdesk_folded"
"""Set by the page: minutes east of Greenwich, and whether the list is folded away."""

_LONGEST_SEARCH = 200


class History:
    """Handlers of the list beside the chat; without scripts they show it as a page."""

    def __init__(
        self, *, threads: Threads, inbox: Inbox, exchanges: Exchanges, identify: Identify
    ) -> None:
        self._threads = threads
        self._inbox = inbox
        self._exchanges = exchanges
        self._identify = identify

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/history", self.show)
        app.router.add_get("/conversations/{conversation}/delete", self.confirm)
        app.router.add_post("/conversations/{conversation}/delete", self.delete)

    async def show(self, request: web.Request) -> web.Response:
        """Return the list or what matches a search, as a piece of the page or as one."""
        context = await self.beside(request, _asked(request))
        piece = wants_fragment(request)
        template = "web/threads.html" if piece else "web/history.html"
        return aiohttp_jinja2.render_template(template, request, {**context, "piece": piece})

    async def beside(self, request: web.Request, asked: Asked) -> dict[str, object]:
        """Return what the list's templates show."""
        east = request.cookies.get(EAST, "")
        now = datetime.now(UTC).astimezone(zone_of(east))
        return {
            "history": await self._listing(request, asked, now),
            "east": east,
            "folded": request.cookies.get(FOLDED) == "yes",
        }

    async def confirm(self, request: web.Request) -> web.Response:
        """Ask whether a conversation shall be deleted."""
        thread = self._thread(request, request.match_info["conversation"])
        count = len(await self._threads.questions(thread))
        context = {"conversation": thread.id, "count": count}
        return aiohttp_jinja2.render_template("web/delete.html", request, context)

    async def delete(self, request: web.Request) -> web.Response:
        """Withdraw every question of a conversation; then a new one is open."""
        thread = self._thread(request, request.match_info["conversation"])
        for interaction_id in await self._threads.questions(thread):
            await self._inbox.cancel(interaction_id)
        response = web.HTTPSeeOther("/")
        remember(response, str(uuid.uuid4()))
        raise response

    async def _listing(self, request: web.Request, asked: Asked, now: datetime) -> Listing:
        place = self._thread(request, asked.open)
        if asked.query:
            words, after = asked.query, asked.after
            found = await self._threads.matching(place, words, LISTED + 1, after)
            return listing_of(await self._exchanges.listed(request, found), asked, now)
        newest = await self._threads.newest(place, LISTED + 1, asked.after)
        return listing_of(await self._exchanges.listed(request, newest), asked, now)

    def _thread(self, request: web.Request, conversation: str) -> Thread:
        return self._exchanges.thread(self._identify(request), known_uuid(conversation))


def remember(response: web.StreamResponse, conversation: str) -> None:
    """Have the browser open a conversation next time."""
    response.set_cookie(COOKIE, conversation, httponly=True, samesite="Strict", max_age=30 * 86400)


def _asked(request: web.Request) -> Asked:
    given = request.query
    return Asked(
        query=" ".join(given.get("q", "")[:_LONGEST_SEARCH].split()),
        open=given.get("open", ""),
        after=given.get("after"),
        seen=_moment(given.get("seen", "")),
    )


def _moment(given: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
