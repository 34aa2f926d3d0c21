"""Answers whose source has changed: what they quote is gone from its page, or may not be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import structlog
from aiohttp import web

from bot.adapters.board import paging, words
from bot.adapters.board.frame import show
from bot.adapters.board.ports import Record
from bot.adapters.board.spans import DAYS, choices
from bot.domain.record_search import AskedQuestion, Cursor, QuestionQuery, Searches, decode_cursor
from bot.domain.types import Interaction, Reply
from bot.doors.identity import needs
from bot.doors.reading import reads
from bot.escalations.quote_check import CitedQuote, HoldsPages, QuoteCheck, QuoteState
from rag.errors import RagError

PATH = "/board/questions/changed"
MOST = 500
"""So many answers are looked at for one view."""

_AT_ONCE = 50
_USUAL_DAYS = 30
_AWAY = "The index can't be read right now, so nothing can be said of what changed."
_Bad = Literal["changed", "restricted", "gone"]
_WHY: Mapping[_Bad, str] = {
    "gone": "The page is gone",
    "restricted": "Not everyone may read the page any more",
    "changed": "The page no longer says what was quoted",
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Changed:
    """A question whose answer rests on what is gone; ``why`` says in words what became of it."""

    asked: AskedQuestion
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    changed: Sequence[Changed]
    looked_at: int
    next: Cursor | None


class ChangedPage:
    """Handlers of the list; pages are not named, for not all who see it may know of them.

    Args:
        tenant: Whose record.
        searches: Finds answers.
        record: The answers themselves.
        index: Where the pages are.
        clock: The time.
        most: So many answers are looked at for one view.
    """

    def __init__(
        self,
        *,
        tenant: str,
        searches: Searches,
        record: Record,
        index: HoldsPages,
        clock: Callable[[], datetime],
        most: int = MOST,
    ) -> None:
        self._tenant = tenant
        self._searches = searches
        self._record = record
        self._index = index
        self._clock = clock
        self._most = most

    def mount(self, app: web.Application) -> None:
        """Add the route; it comes before those of single questions."""
        app.router.add_get(PATH, self.page)

    async def page(self, request: web.Request) -> web.Response:
        """List them, newest first, of the days that are chosen."""
        needs(request, "expert")
        days = _days_of(request)
        after = decode_cursor(request.query.get("after", ""), parts=1, numbered=True)
        check = QuoteCheck(self._index, self._tenant, await reads(request, self._tenant))
        trouble, found = "", _Found((), 0, None)
        try:
            found = await self._look(check, self._clock() - timedelta(days=days), after)
        except RagError as error:
            log.warning("board.index_unavailable", why=str(error))
            trouble = _AWAY
        kept = {"days": str(days)}
        context: Mapping[str, object] = {
            "found": found,
            "trouble": trouble,
            "spans": choices(days, PATH),
            "first": paging.link(PATH, kept) if after is not None else "",
            "more": paging.further(PATH, kept, found.next),
            "words": words,
        }
        return show(request, "board/changed.html", context)

    async def _look(self, check: QuoteCheck, since: datetime, after: Cursor | None) -> _Found:
        """Look at answers until a page is full, or at as many as one view may."""
        changed: list[Changed] = []
        looked_at, place = 0, after
        query = QuestionQuery(answer_type="RAG", since=since)
        while True:
            limit = min(_AT_ONCE, self._most - looked_at)
            listed = await self._searches.questions(self._tenant, query, limit=limit, after=place)
            changed += await self._changed(check, listed.items)
            looked_at, place = looked_at + len(listed.items), listed.next
            # A search that found nothing so far has done its share, too.
            spent = looked_at >= self._most or not listed.items
            if place is None or spent or len(changed) >= paging.SIZE:
                return _Found(changed, looked_at, place)

    async def _changed(
        self, check: QuoteCheck, asked: Sequence[AskedQuestion]
    ) -> Sequence[Changed]:
        quoted = {each: _quoted(await self._record.get(each.id)) for each in asked}
        fates = await check.fates({one for every in quoted.values() for one in every})
        told = {each: _told([fates[one] for one in every]) for each, every in quoted.items()}
        return [Changed(each, why) for each, why in told.items() if why]


def _quoted(asked: Interaction | None) -> Sequence[CitedQuote]:
    """Return what an answer cites."""
    if asked is None or asked.outcome is None or not isinstance(asked.outcome.response, Reply):
        return ()
    public = not asked.message.private
    return [
        CitedQuote(each.space, each.page_id, each.chunk_id, each.quote, public)
        for each in asked.outcome.response.sources
    ]


def _told(fates: Sequence[QuoteState]) -> tuple[str, ...]:
    return tuple(why for bad, why in _WHY.items() if bad in fates)


def _days_of(request: web.Request) -> int:
    asked = request.query.get("days", "")
    return next((days for days in DAYS if str(days) == asked), _USUAL_DAYS)
