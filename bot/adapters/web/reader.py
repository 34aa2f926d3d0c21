"""Stored pages over HTTP, for those who may read them."""

from __future__ import annotations

import aiohttp_jinja2
from aiohttp import web

from bot.adapters.web.ports import StoredPages
from bot.adapters.web.reading import highlighted, parts_of
from bot.doors.reading import reads
from rag.types import Chunk

QUOTED = "The highlighted lines are the ones the answer quotes."
GONE = "This page has changed since the answer was given: the quoted lines are no longer on it."


class PageReader:
    """Handler of a stored page; a page one may not read looks like one that is not there."""

    def __init__(self, pages: StoredPages, tenant: str) -> None:
        self._pages = pages
        self._tenant = tenant

    def mount(self, app: web.Application) -> None:
        """Add the route."""
        app.router.add_get("/pages/{space}/{page:.+}", self.page)

    async def page(self, request: web.Request) -> web.Response:
        """Show a page, with the quotes highlighted that the address names."""
        chunks = await self._pages.page(
            self._tenant,
            request.match_info["space"],
            request.match_info["page"],
            await reads(request, self._tenant),
        )
        if not chunks:
            return _missing(request)
        quotes = request.query.getall("quote", [])
        parts = parts_of(chunks, chunk_id=request.query.get("chunk", ""), quotes=quotes)
        note = QUOTED if highlighted(parts) else GONE
        first = chunks[0]
        return aiohttp_jinja2.render_template(
            "web/page.html",
            request,
            {
                "title": first.title,
                "trail": _above(first),
                "note": note if any(map(str.strip, quotes)) else "",
                "parts": parts,
            },
        )


def _above(chunk: Chunk) -> tuple[str, ...]:
    """Return where the page is: the space and the pages above it."""
    trail = chunk.breadcrumb
    return trail[: trail.index(chunk.title)] if chunk.title in trail else trail


def _missing(request: web.Request) -> web.Response:
    return aiohttp_jinja2.render_template(
        "trouble.html",
        request,
        {"title": "No such page", "text": "It may have moved, or you may not read it."},
        status=404,
    )
