"""What people said of the answers: the latest first, and why they were not helped."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from aiohttp import web

from bot.adapters.board import paging, words
from bot.adapters.board.filters import Fields, feedback_query
from bot.adapters.board.frame import show
from bot.domain.record_search import FeedbackCounts, Searches, decode_cursor
from bot.doors.identity import needs

PATH = "/board/feedback"
SPAN = timedelta(days=30)
"""What the counts are of."""

_FIELDS = ("vote", "reason", "commented")


class FeedbackPage:
    """Handler of the list of judgements."""

    def __init__(self, *, tenant: str, searches: Searches, clock: Callable[[], datetime]) -> None:
        self._tenant = tenant
        self._searches = searches
        self._clock = clock

    def mount(self, app: web.Application) -> None:
        """Add the route."""
        app.router.add_get(PATH, self.show)

    async def show(self, request: web.Request) -> web.Response:
        """List judgements, narrowed by the address, with the counts of the last days."""
        needs(request, "expert")
        fields = Fields(request.query)
        after = decode_cursor(request.query.get("after", ""), parts=2)
        found = await self._searches.feedback(
            self._tenant, feedback_query(fields), limit=paging.SIZE, after=after
        )
        counts = await self._searches.feedback_counts(self._tenant, self._clock() - SPAN)
        kept = {name: fields.text(name) for name in _FIELDS}
        context = {
            "found": found,
            "counts": counts,
            "reasons": by_reason(counts),
            "days": SPAN.days,
            "fields": kept,
            "narrowed": any(kept.values()),
            "first": paging.link(PATH, kept) if after is not None else "",
            "more": paging.further(PATH, kept, found.next),
            "words": words,
        }
        return show(request, "board/feedback.html", context)


def by_reason(counts: FeedbackCounts) -> tuple[tuple[str, str, int], ...]:
    """Return reason, its words and how often it was given, the most frequent first."""
    given = sorted(counts.reasons.items(), key=lambda each: (-each[1], each[0]))
    return tuple(
        (reason, words.judged(reason) if reason else "No reason given", count)
        for reason, count in given
    )
