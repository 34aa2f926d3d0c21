"""Board page of the weekly digest: who gets it, by mail too; switched on and off."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aiohttp import web

from bot.domain.messages import Person
from bot.domain.record_reports import last_days
from bot.domain.texts import tr
from bot.domain.texts.dates import spoken_moment
from bot.domain.users import Role
from bot.learning.digest import EMAIL, DigestRecord, FindsStalePages, Schedule, Subscription
from bot.web.auth.identity import principals_of, require_role, role_of
from bot.web.board import labels
from bot.web.board.layout import audit_name, render_page, utc_now
from bot.web.problems import problem
from rag.errors import RagError

PATH = "/board/insights/digests"
_ADDRESS = re.compile(r"[^@\s,;:<>()\[\]\"\\]{1,100}@[A-Za-z0-9.-]{1,150}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestsPage:
    """Handlers of the page; ``mail``: mail can be sent."""

    tenant: str
    record: DigestRecord
    pages: FindsStalePages
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
        told = {each.owner for each in found}
        context = {
            "owners": [each for each in await self._owners(request) if each not in told],
            "rows": [(each, _place(each)) for each in shown],
            "mail": self.mail,
            "own": person.email or "",
            "admin": role == "admin",
            "next": spoken_moment(self.schedule.next(self.clock())),
            "zone": str(self.schedule.zone),
        }
        return render_page(request, "board/digests.html", context)

    async def _owners(self, request: web.Request) -> Sequence[str]:
        """Return the last editors of the pages to mend, for admins alone."""
        if role_of(request) != "admin":
            return []
        month = last_days(self.clock(), 30)
        try:
            stale = await self.pages.stale(month, await principals_of(request, self.tenant))
        except RagError:
            return []
        return sorted({each.page.owner for each in stale if each.page.owner})

    async def change(self, request: web.Request) -> web.Response:
        """Switch a digest on or off, with an audit entry."""
        person, role = require_role(request, "expert"), role_of(request)
        form = await request.post()
        target, actor = str(form.get("target", "")), f"board:{person.id}"
        if address := str(form.get("email", "")).strip():
            owner = str(form.get("owner", "")).strip()
            await self._subscribe_by_mail(address, owner, person, role)
            raise web.HTTPSeeOther(PATH)
        found = await self.record.one(self.tenant, target)
        if found is None or not _may_change(found, person, role):
            raise problem(404, tr("This digest does not exist, or you can't change it."))
        if form.get("switch") == "on":
            again = replace(found, created_by=audit_name(person), created_at=self.clock())
            await self.record.subscribe(self.tenant, again, actor=actor)
        else:
            await self.record.unsubscribe(self.tenant, target, actor=actor)
        raise web.HTTPSeeOther(PATH)

    async def _subscribe_by_mail(
        self, address: str, owner: str, person: Person, role: Role
    ) -> None:
        to = address.lower()
        if not self.mail or not _ADDRESS.fullmatch(to):
            raise problem(422, tr("Email can't be sent to “{address}”.", address=address[:80]))
        if role != "admin" and (owner or to != (person.email or "").lower()):
            raise problem(403, tr("Only admins can send digests to other people."))
        new = Subscription(f"{EMAIL}:{to}", audit_name(person), self.clock(), email=to, owner=owner)
        known = await self.record.one(self.tenant, new.target)
        if known is not None and owner and not known.owner:
            raise problem(
                409,
                tr("{address} gets the full digest already, or has turned it off.", address=to),
            )
        await self.record.subscribe(self.tenant, new, actor=f"board:{person.id}")


def _may_change(of: Subscription, person: Person, role: Role) -> bool:
    """Return whether a digest is the person's own, or they are an admin."""
    own = of.email and person.email and of.email.casefold() == person.email.casefold()
    return role == "admin" or bool(own) or bool(of.person_id and of.person_id == person.id)


def _place(of: Subscription) -> str:
    """Return where a digest goes."""
    if of.platform == EMAIL:
        if not of.owner:
            return tr("Email to {address}", address=of.address)
        return tr("Email to {address}, pages of {owner} only", address=of.address, owner=of.owner)
    if of.reader is not None:
        platform = labels.PLATFORMS.get(of.platform, of.platform)
        return tr("{platform}, to {who}", platform=platform, who=of.email or of.created_by)
    return labels.place(of.target, private=False)
