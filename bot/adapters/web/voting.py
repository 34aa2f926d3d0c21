"""Feedback on an answer: a thumb, and, where it did not help, why."""

from __future__ import annotations

from aiohttp import web

from bot.adapters.web.exchanges import Exchanges, wants_fragment
from bot.adapters.web.ports import Identify
from bot.chat.votes import AnswerVotes, can_be_rated
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import Vote, new_feedback
from bot.domain.ports import Interactions
from bot.domain.types import Interaction

LONGEST_COMMENT = 500
"""Characters; the API takes more."""

_NOTHING_TO_JUDGE = "There is no answer to judge."


class Voting:
    """Handlers of the thumbs; a later judgement replaces an earlier one."""

    def __init__(
        self, exchanges: Exchanges, interactions: Interactions, identify: Identify
    ) -> None:
        self._exchanges = exchanges
        self._interactions = interactions
        self._judging = AnswerVotes(interactions)
        self._identify = identify

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_post("/chat/{conversation}/{id}/vote", self.vote)
        app.router.add_post("/chat/{conversation}/{id}/reason", self.reason)

    async def vote(self, request: web.Request) -> web.Response:
        """Keep a thumb; the same thumb again takes it back, with what was said."""
        interaction = await self._exchanges.own(request)
        vote = _thumb(str((await request.post()).get("vote", "")))
        about = interaction.message.thread.tenant, interaction.id, self._identify(request).id
        try:
            if not await self._judging.vote(*about, vote):
                await self._judging.take_back(*about, vote)
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise web.HTTPNotFound(text=_NOTHING_TO_JUDGE) from error
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
            said = new_feedback(
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
        if not can_be_rated(interaction.outcome):
            raise web.HTTPNotFound(text=_NOTHING_TO_JUDGE)
        return interaction

    async def _votes(self, request: web.Request, interaction: Interaction) -> web.Response:
        if not wants_fragment(request):
            raise web.HTTPSeeOther(f"/#x-{interaction.id}")
        return await self._exchanges.fragment(request, "web/votes.html", interaction)


def _thumb(given: str) -> Vote:
    if given == "up":
        return "up"
    if given == "down":
        return "down"
    raise web.HTTPUnprocessableEntity(text=f"A vote is 'up' or 'down', not {given!r}.")
