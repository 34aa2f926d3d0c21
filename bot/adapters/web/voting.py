"""Feedback on an answer: a thumb, and, where it did not help, why."""

from __future__ import annotations

from typing import Literal

from aiohttp import web

from bot.adapters.web.exchanges import Exchanges, wants_fragment
from bot.adapters.web.ports import Identify
from bot.adapters.web.view import rateable
from bot.errors import FeedbackInvalid
from bot.feedback import judgement
from bot.ports import Interactions
from bot.types import Interaction

LONGEST_COMMENT = 500
"""Characters; the API takes more."""


class Voting:
    """Handlers of the thumbs; a later judgement replaces an earlier one."""

    def __init__(
        self, exchanges: Exchanges, interactions: Interactions, identify: Identify
    ) -> None:
        self._exchanges = exchanges
        self._interactions = interactions
        self._identify = identify

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_post("/chat/{conversation}/{id}/vote", self.vote)
        app.router.add_post("/chat/{conversation}/{id}/reason", self.reason)

    async def vote(self, request: web.Request) -> web.Response:
        """Keep a thumb; the same thumb again takes it back, with what was said."""
        interaction = await self._judged(request)
        vote = _thumb(str((await request.post()).get("vote", "")))
        person = self._identify(request)
        given = await self._exchanges.feedback_of(interaction.id, person)
        if given is not None and given.vote == vote:
            await self._interactions.unrate(interaction.id, person.id)
        else:
            await self._interactions.rate(judgement(interaction.id, person.id, vote))
        return await self._votes(request, interaction)

    async def reason(self, request: web.Request) -> web.Response:
        """Keep why an answer did not help; nothing said takes back what was said."""
        interaction = await self._judged(request)
        form = await request.post()
        comment = str(form.get("comment", "")).replace("\r\n", "\n").strip()
        if len(comment) > LONGEST_COMMENT:
            raise web.HTTPUnprocessableEntity(
                text=f"That is {len(comment):,} characters; say it in {LONGEST_COMMENT:,}."
            )
        try:
            said = judgement(
                interaction.id,
                self._identify(request).id,
                "down",
                reason=str(form.get("reason", "")) or None,
                comment=comment,
            )
        except FeedbackInvalid as error:
            raise web.HTTPUnprocessableEntity(text=str(error)) from error
        await self._interactions.rate(said)
        return await self._votes(request, interaction)

    async def _judged(self, request: web.Request) -> Interaction:
        interaction = await self._exchanges.own(request)
        if not rateable(interaction):
            raise web.HTTPNotFound(text="There is no answer to judge.")
        return interaction

    async def _votes(self, request: web.Request, interaction: Interaction) -> web.Response:
        if not wants_fragment(request):
            raise web.HTTPSeeOther(f"/#x-{interaction.id}")
        return await self._exchanges.fragment(request, "web/votes.html", interaction)


def _thumb(given: str) -> Literal["up", "down"]:
    if given == "up":
        return "up"
    if given == "down":
        return "down"
    raise web.HTTPUnprocessableEntity(text=f"A vote is 'up' or 'down', not {given!r}.")
