"""Board page of corrected answers: which page changed, and how many of its readers were told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from aiohttp import web

from bot.answering.asker_identity import Reader
from bot.learning.corrections import CorrectedPage, CorrectionReports
from bot.web.auth.identity import require_role, role_of, viewer_of
from bot.web.board import labels
from bot.web.board.figures import plural
from bot.web.board.layout import PAGE_SIZE, audit_name, list_link, render_page, utc_now
from bot.web.pages.safe_html import openable
from rag.errors import RagError
from rag.ports import SearchIndex

PATH = "/board/corrections"
_MOST_OFFSET = 5
"""Digits of the place in the list."""

_DECISIONS: Mapping[str, Literal["due", "dropped"]] = {"release": "due", "drop": "dropped"}


@dataclass(frozen=True, slots=True)
class CorrectedPageView:
    """A page as its viewer may see it; ``title`` is "" if it is gone, or closed to them.

    ``owner`` is the name of its last editor, "" if unknown.
    """

    counts: CorrectedPage
    title: str = ""
    space: str = ""
    href: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionsPage:
    """Handlers of the list, and of what is held back."""

    tenant: str
    reports: CorrectionReports
    index: SearchIndex
    clock: Callable[[], datetime] = utc_now

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.list)
        app.router.add_post(PATH, self.decide)

    async def list(self, request: web.Request) -> web.Response:
        """List pages because of which answers were corrected, the newest first."""
        require_role(request, "expert")
        given = request.query.get("after", "")
        valid = given.isascii() and given.isdigit() and len(given) <= _MOST_OFFSET
        offset = int(given) if valid else 0
        found = await self.reports.pages(self.tenant, PAGE_SIZE + 1, offset)
        reader = (await viewer_of(request, self.tenant)).reader
        more = {"after": str(offset + PAGE_SIZE)}
        context = {
            "found": [await self._view(each, reader) for each in found[:PAGE_SIZE]],
            "held": await self._held(request),
            "first": PATH if offset else "",
            "more": list_link(PATH, more) if len(found) > PAGE_SIZE else "",
            "plural": plural,
            "words": labels,
        }
        return render_page(request, "board/corrections.html", context)

    async def decide(self, request: web.Request) -> web.Response:
        """Release or drop what is held back of a space; for admins."""
        person = require_role(request, "admin")
        form = await request.post()
        decision = _DECISIONS.get(str(form.get("decision", "")))
        if decision is None:
            raise web.HTTPUnprocessableEntity(text="Choose to release or to drop them.")
        actor = f"board:{audit_name(person)}"
        space = str(form.get("space", ""))
        await self.reports.decide(self.tenant, space, decision, self.clock(), actor)
        raise web.HTTPSeeOther(PATH)

    async def _held(self, request: web.Request) -> Sequence[tuple[str, int]]:
        """Return the spaces with corrections that are held back; admins alone decide."""
        if role_of(request) != "admin":
            return ()
        return list((await self.reports.held(self.tenant)).items())

    async def _view(self, page: CorrectedPage, reader: Reader) -> CorrectedPageView:
        if reader.spaces is not None and page.space not in reader.spaces:
            return CorrectedPageView(page)
        try:
            chunks = await self.index.page(self.tenant, page.space, page.page, reader.principals)
        except RagError:
            chunks = ()
        if not chunks:
            return CorrectedPageView(page)
        first = chunks[0]
        return CorrectedPageView(
            page, first.title, page.space, openable(first.url), first.updated_by
        )
