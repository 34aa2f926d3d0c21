"""What was asked: a search over the record, and one whole record."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from bot.adapters.board import paging, words
from bot.adapters.board.filters import Fields, question_query
from bot.adapters.board.frame import show
from bot.adapters.board.ports import Record
from bot.adapters.board.record import record_view
from bot.answering.asker_identity import Reader
from bot.answering.visibility import ReadablePassages, visibility_in
from bot.domain.person_requests import person_request_below
from bot.domain.record_search import Searches, decode_cursor
from bot.domain.types import Interaction, InteractionId
from bot.doors.identity import needs, role_of
from bot.doors.reading import reads
from bot.escalations.ports import Cases

PATH = "/board/questions"
EARLIER = 5
"""Exchanges before a question that its record shows."""

_FIELDS = (
    "words",
    "kind",
    "intent",
    "platform",
    "person",
    "vote",
    "since",
    "until",
    "least",
    "most",
)


class Questions:
    """Handlers of the search and of one record."""

    def __init__(
        self,
        *,
        tenant: str,
        searches: Searches,
        record: Record,
        cases: Cases,
        readable: ReadablePassages,
    ) -> None:
        self._tenant = tenant
        self._searches = searches
        self._record = record
        self._cases = cases
        self._readable = readable

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.search)
        app.router.add_get(f"{PATH}/{{id}}", self.one)

    async def search(self, request: web.Request) -> web.Response:
        """List what was asked, newest first, narrowed by the form's fields."""
        needs(request, "expert")
        fields = Fields(request.query)
        query = question_query(fields)
        after = decode_cursor(request.query.get("after", ""), parts=1, numbered=True)
        found = await self._searches.questions(self._tenant, query, limit=paging.SIZE, after=after)
        kept = {name: fields.text(name) for name in _FIELDS}
        context: Mapping[str, object] = {
            "found": found,
            "fields": kept,
            "troubles": fields.troubles,
            "narrowed": any(kept.values()),
            "first": paging.link(PATH, kept) if after is not None else "",
            "more": paging.further(PATH, kept, found.next),
            "intents": [(each.value, name) for each, name in words.INTENTS.items()],
            "words": words,
        }
        return show(request, "board/questions.html", context)

    async def one(self, request: web.Request) -> web.Response:
        """Show one whole record, but for pages that its reader may not read."""
        needs(request, "expert")
        asked = await self._asked(request.match_info["id"])
        below = person_request_below(asked.message)
        case = await self._cases.get(self._tenant, asked.id)
        case = case or await self._cases.get(self._tenant, below)
        thread = asked.message.thread
        earlier = await self._record.in_thread(thread, EARLIER, asked.number)
        reader = Reader(await reads(request, self._tenant))
        seen = await visibility_in(self._readable, self._tenant, (asked, *earlier), reader)
        view = record_view(
            asked,
            seen,
            earlier=earlier,
            feedback=await self._record.feedback(asked.id),
            scored=role_of(request) == "admin",
        )
        context = {"record": view, "case": case, "words": words}
        return show(request, "board/question.html", context)

    async def _asked(self, given: str) -> Interaction:
        found = await self._record.get(InteractionId(given))
        if found is None or found.message.thread.tenant != self._tenant:
            raise web.HTTPNotFound(text="There is no such question, or it is no longer kept.")
        return found
