"""The page of the person who looks: who sees their questions, their digest, and their data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import aiohttp_jinja2
from aiohttp import web

from bot.domain.messages import Person
from bot.domain.personal_data import SHARED_IDS
from bot.domain.texts import tr
from bot.learning.digest import EMAIL, DigestRecord
from bot.learning.question_words import QuestionWords
from bot.store.personal_data import PersonalData
from bot.web.auth.identity import VISITOR_COOKIE, person_of
from bot.web.problems import problem

PATH = "/me"
FORGET_PATH = "/me/forget"


@dataclass(frozen=True, slots=True)
class AccountPage:
    """Handlers of the page.

    ``hurry`` has the job that forgets persons called now.
    """

    tenant: str
    words: QuestionWords
    digests: DigestRecord
    personal: PersonalData
    hurry: Callable[[], None]

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(PATH, self.show)
        app.router.add_post(PATH, self.change)
        app.router.add_get(FORGET_PATH, self.ask_to_forget)
        app.router.add_post(FORGET_PATH, self.forget)

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
            raise problem(422, f"Send 'on' or 'off', not {given[:40]!r}.")
        await self.words.agree(self.tenant, person_of(request), shares=given == "on")
        raise web.HTTPSeeOther(PATH)

    async def ask_to_forget(self, request: web.Request) -> web.Response:
        """Show how much would be forgotten, and ask."""
        summary = await self.personal.summary(_identities(_own_person(request)))
        context = {"total": summary.total, "done": False}
        return aiohttp_jinja2.render_template("web/forget.html", request, context)

    async def forget(self, request: web.Request) -> web.Response:
        """Have the caller forgotten, at once; they are signed out by that."""
        person = _own_person(request)
        if (await request.post()).get("agreed") != "yes":
            raise web.HTTPSeeOther(FORGET_PATH)
        await self.personal.request(_identities(person), f"web:{person.id}")
        self.hurry()
        context = {"total": 0, "done": True}
        response = aiohttp_jinja2.render_template("web/forget.html", request, context)
        response.del_cookie(VISITOR_COOKIE)
        return response


def _own_person(request: web.Request) -> Person:
    """Return the caller. Raises Problem (403) for an identity that several people share."""
    person = person_of(request)
    if person.id in SHARED_IDS:
        raise problem(
            403,
            tr("The admin token does not belong to a person."),
            cure=tr("Sign in with your own account."),
        )
    return person


def _identities(person: Person) -> Sequence[str]:
    return [person.id, *([person.email] if person.email else [])]


def _mail_of(person: Person) -> str:
    """Return the target of a person's digest by mail."""
    return f"{EMAIL}:{(person.email or '').lower()}"
