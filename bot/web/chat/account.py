"""The page of the person who looks: whether others may see the words of their questions."""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp_jinja2
from aiohttp import web

from bot.learning.question_words import QuestionWords
from bot.web.auth.identity import person_of

PATH = "/me"


@dataclass(frozen=True, slots=True)
class AccountPage:
    """Handlers of the page."""

    tenant: str
    words: QuestionWords

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.show)
        app.router.add_post(PATH, self.share)

    async def show(self, request: web.Request) -> web.Response:
        """Show who the caller is, and the switch."""
        person = person_of(request)
        shares = await self.words.agrees(self.tenant, person)
        context = {"person": person, "shares": shares}
        return aiohttp_jinja2.render_template("web/account.html", request, context)

    async def share(self, request: web.Request) -> web.Response:
        """Let others see the caller's questions, or stop that."""
        given = str((await request.post()).get("share", ""))
        if given not in {"on", "off"}:
            raise web.HTTPUnprocessableEntity(text=f"Send 'on' or 'off', not {given[:40]!r}.")
        await self.words.agree(self.tenant, person_of(request), shares=given == "on")
        raise web.HTTPSeeOther(PATH)
