"""Board page of corrected answers: which page changed, and how many of its readers were told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from aiohttp import web

from bot.domain.texts import tr
from bot.learning.corrected_pages import CorrectedPages, ShownCorrections
from bot.learning.corrections import CorrectionReports
from bot.web.auth.identity import require_role, role_of, viewer_of
from bot.web.board import labels
from bot.web.board.layout import PAGE_SIZE, audit_name, list_link, render_page, utc_now
from bot.web.pages.safe_html import openable
from bot.web.problems import problem

PATH = "/board/corrections"
_MOST_OFFSET = 5
"""Digits of the place in the list."""

_DECISIONS: Mapping[str, Literal["due", "dropped"]] = {"release": "due", "drop": "dropped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionsPage:
    """Handlers of the list, and of what is held back."""

    tenant: str
    reports: CorrectionReports
    corrected: CorrectedPages
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
        reader = (await viewer_of(request, self.tenant)).reader
        found = await self.corrected.listed(reader, PAGE_SIZE + 1, offset)
        more = {"after": str(offset + PAGE_SIZE)}
        context = {
            "found": [(each, _link(each)) for each in found[:PAGE_SIZE]],
            "held": await self._held(request),
            "first": PATH if offset else "",
            "more": list_link(PATH, more) if len(found) > PAGE_SIZE else "",
            "words": labels,
        }
        return render_page(request, "board/corrections.html", context)

    async def decide(self, request: web.Request) -> web.Response:
        """Release or drop what is held back of a space; for admins."""
        person = require_role(request, "admin")
        form = await request.post()
        decision = _DECISIONS.get(str(form.get("decision", "")))
        if decision is None:
            raise problem(422, tr("Choose whether to send or discard them."))
        actor = f"board:{audit_name(person)}"
        space = str(form.get("space", ""))
        await self.reports.decide(self.tenant, space, decision, self.clock(), actor)
        raise web.HTTPSeeOther(PATH)

    async def _held(self, request: web.Request) -> Sequence[tuple[str, int]]:
        """Return the spaces with corrections that are held back; admins alone decide."""
        if role_of(request) != "admin":
            return ()
        return list((await self.reports.held(self.tenant)).items())


def _link(shown: ShownCorrections) -> str:
    return openable(shown.page.url) if shown.page else ""
