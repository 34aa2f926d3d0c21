"""Board page of the weekly digest: who gets it, by mail too; switched on and off."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from bot.domain.messages import Person
from bot.domain.users import Role
from bot.learning.digest import EMAIL, DigestRecord, Schedule, Subscription
from bot.web.auth.identity import require_role, role_of
from bot.web.board import labels
from bot.web.board.layout import audit_name, render_page, utc_now

PATH = "/board/digests"
_ADDRESS = re.compile(r"[^@\s]{1,100}@[^@\s]{1,150}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestsPage:
    """Handlers of the page; ``mail``: mail can be sent."""

    tenant: str
    record: DigestRecord
    schedule: Schedule
    mail: bool
    clock: Callable[[], datetime] = utc_now

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.page)
        app.router.add_post(PATH, self.change)

    async def page(self, request: web.Request) -> web.Response:
        """Show who gets the digest; experts see their own, admins all."""
        person, role = require_role(request, "expert"), role_of(request)
        found = await self.record.listed(self.tenant)
        shown = [each for each in found if _may_change(each, person, role)]
        context = {
            "rows": [(each, _place(each)) for each in shown],
            "mail": self.mail,
            "own": person.email or "",
            "admin": role == "admin",
            "next": self.schedule.next(self.clock()),
            "zone": str(self.schedule.zone),
        }
        return render_page(request, "board/digests.html", context)

    async def change(self, request: web.Request) -> web.Response:
        """Switch a digest on or off, with an audit entry."""
        person, role = require_role(request, "expert"), role_of(request)
        form = await request.post()
        target, actor = str(form.get("target", "")), f"board:{person.id}"
        if address := str(form.get("email", "")).strip():
            await self._subscribe_by_mail(address, person, role, actor)
            raise web.HTTPSeeOther(PATH)
        found = await self.record.one(self.tenant, target)
        if found is None or not _may_change(found, person, role):
            raise web.HTTPNotFound(text="There is no such digest that you may switch.")
        if form.get("switch") == "on":
            again = Subscription(
                target, audit_name(person), self.clock(), found.person_id, found.email
            )
            await self.record.subscribe(self.tenant, again, actor=actor)
        else:
            await self.record.unsubscribe(self.tenant, target, actor=actor)
        raise web.HTTPSeeOther(PATH)

    async def _subscribe_by_mail(
        self, address: str, person: Person, role: Role, actor: str
    ) -> None:
        own = address.casefold() == (person.email or "").casefold()
        if not self.mail or not _ADDRESS.fullmatch(address):
            raise web.HTTPUnprocessableEntity(text=f"No mail can be sent to {address[:80]!r}.")
        if not own and role != "admin":
            raise web.HTTPForbidden(text="Only admins send digests to the addresses of others.")
        to = address.lower()
        new = Subscription(f"{EMAIL}:{to}", audit_name(person), self.clock(), email=to)
        await self.record.subscribe(self.tenant, new, actor=actor)


def _may_change(of: Subscription, person: Person, role: Role) -> bool:
    """Return whether a digest is the person's own, or they are an admin."""
    own = of.email and person.email and of.email.casefold() == person.email.casefold()
    return role == "admin" or bool(own) or bool(of.person_id and of.person_id == person.id)


def _place(of: Subscription) -> str:
    """Return where a digest goes."""
    if of.platform == EMAIL:
        return f"Mail to {of.address}"
    if of.reader is not None:
        return f"{labels.PLATFORMS.get(of.platform, of.platform)}, to {of.email or of.created_by}"
    return labels.place(of.target, private=False)
