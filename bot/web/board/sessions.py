"""Board page of who is signed in; admins end all sessions of a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from bot.store.sessions import StoredSessions
from bot.web.auth.identity import require_role
from bot.web.board.layout import audit_name, render_page, utc_now

PATH = "/board/settings/sessions"


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """Handlers of the page. Every process reads the sessions of the record, so all obey at once."""

    tenant: str
    sessions: StoredSessions
    clock: Callable[[], datetime] = utc_now

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.page)
        app.router.add_post(PATH, self.end)

    async def page(self, request: web.Request) -> web.Response:
        """Show who is signed in."""
        require_role(request, "admin")
        people = await self.sessions.people(self.tenant, self.clock())
        return render_page(request, "board/sessions.html", {"people": people}, role="admin")

    async def end(self, request: web.Request) -> web.Response:
        """End all sessions of a person, with an audit entry."""
        admin = require_role(request, "admin")
        person_id = str((await request.post()).get("person", ""))
        await self.sessions.end_all(self.tenant, person_id, actor=f"board:{audit_name(admin)}")
        raise web.HTTPSeeOther(PATH)
