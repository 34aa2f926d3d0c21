"""The page of the person who looks: who sees their questions, and their digest by mail."""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp_jinja2
from aiohttp import web

from bot.domain.messages import Person
from bot.learning.digest import EMAIL, DigestRecord
from bot.learning.question_words import QuestionWords
from bot.web.auth.identity import person_of

PATH = "/me"


@dataclass(frozen=True, slots=True)
class AccountPage:
    """Handlers of the page."""

    tenant: str
    words: QuestionWords
    digests: DigestRecord

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.show)
        app.router.add_post(PATH, self.change)

    async def show(self, request: web.Request) -> web.Response:
        """Show who the caller is, and the switch."""
        person = person_of(request)
        shares = await self.words.agrees(self.tenant, person)
        found = await self.digests.one(self.tenant, _mail_of(person))
        digest = found is not None and not found.off
        context = {"person": person, "shares": shares, "digest": digest}
        return aiohttp_jinja2.render_template("web/account.html", request, context)

    async def change(self, request: web.Request) -> web.Response:
        """Let others see the caller's questions, or stop that; or end the digest by mail."""
        form = await request.post()
        if form.get("digest") == "off":
            person = person_of(request)
            actor = f"web:{person.id}"
            await self.digests.unsubscribe(self.tenant, _mail_of(person), actor=actor)
            raise web.HTTPSeeOther(PATH)
        given = str(form.get("share", ""))
        if given not in {"on", "off"}:
            raise web.HTTPUnprocessableEntity(text=f"Send 'on' or 'off', not {given[:40]!r}.")
        await self.words.agree(self.tenant, person_of(request), shares=given == "on")
        raise web.HTTPSeeOther(PATH)


def _mail_of(person: Person) -> str:
    """Return the target of a person's digest by mail."""
    return f"{EMAIL}:{(person.email or '').lower()}"
