"""What an asker can do about a question that went to people: close it, or ask again."""

from __future__ import annotations

from dataclasses import replace

import aiohttp_jinja2
from aiohttp import web

from bot.adapters.web.cases import CaseView
from bot.adapters.web.exchanges import Exchanges, wants_fragment
from bot.adapters.web.ports import Identify
from bot.domain.cases import Act, Actor
from bot.domain.errors import ActRefused
from bot.domain.types import Interaction
from bot.escalations.ports import Cases

LONGEST_WORDS = 1000
"""Characters an asker may add when they ask again."""


class CaseActs:
    """Handlers of the card under an answer."""

    def __init__(self, exchanges: Exchanges, cases: Cases, identify: Identify) -> None:
        self._exchanges = exchanges
        self._cases = cases
        self._identify = identify

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/chat/{conversation}/{id}/case", self.show)
        app.router.add_post("/chat/{conversation}/{id}/case", self.act)

    async def show(self, request: web.Request) -> web.Response:
        """Return the card as it is now; nothing (204) if that is known already."""
        interaction, case = await self._found(request)
        if request.query.get("version") == str(case.version):
            return web.Response(status=204)
        return _card(request, interaction, case)

    async def act(self, request: web.Request) -> web.Response:
        """Close a case or open it again; what can't be done now is said on the card."""
        interaction, _ = await self._found(request)
        form = await request.post()
        act, text = _act(str(form.get("act", ""))), _words(str(form.get("text", "")))
        person = self._identify(request)
        actor = Actor(person.id, person.name, "asker")
        trouble = ""
        try:
            await self._cases.act(
                interaction.message.thread.tenant, interaction.id, act, actor, text
            )
        except ActRefused as error:
            trouble = str(error)
        if not wants_fragment(request):
            raise web.HTTPSeeOther(f"/#x-{interaction.id}")
        interaction, case = await self._found(request)
        return _card(request, interaction, replace(case, trouble=trouble))

    async def _found(self, request: web.Request) -> tuple[Interaction, CaseView]:
        interaction = await self._exchanges.own(request)
        case = await self._exchanges.case(interaction)
        if case is None:
            raise web.HTTPNotFound(text="Nobody was asked about this question.")
        return interaction, case


def _card(request: web.Request, interaction: Interaction, case: CaseView) -> web.Response:
    context = {"conversation": interaction.message.thread.id, "case": case}
    return aiohttp_jinja2.render_template("web/case.html", request, context)


def _act(given: str) -> Act:
    if given == "resolve":
        return "resolve"
    if given == "reopen":
        return "reopen"
    raise web.HTTPUnprocessableEntity(text=f"Here one can 'resolve' or 'reopen', not {given!r}.")


def _words(given: str) -> str:
    words = given.replace("\r\n", "\n").strip()
    if len(words) > LONGEST_WORDS:
        raise web.HTTPUnprocessableEntity(
            text=f"That is {len(words):,} characters; say it in {LONGEST_WORDS:,}."
        )
    return words
