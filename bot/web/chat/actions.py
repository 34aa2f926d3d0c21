"""Actions on an answer in the web chat: give feedback, close or reopen its escalation."""

from __future__ import annotations

from dataclasses import replace

import aiohttp_jinja2
from aiohttp import web

from bot.chat.votes import AnswerVotes, can_be_rated
from bot.domain.cases import Act, Actor
from bot.domain.errors import ActRefused, FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import Vote, new_feedback
from bot.domain.interactions import Interaction
from bot.domain.ports import Interactions
from bot.escalations.ports import Cases
from bot.web.chat.case_card import CaseCard
from bot.web.chat.exchanges import Exchanges, Identify, wants_fragment

MAX_COMMENT_LENGTH = 500
"""Characters; the API accepts more."""

_NO_ANSWER = "There is no answer to judge."


class FeedbackActions:
    """Handlers of votes and reasons; later feedback replaces earlier feedback."""

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
        """Store a vote; the same vote again deletes it, with its reason and comment."""
        interaction = await self._exchanges.own(request)
        vote = _thumb(str((await request.post()).get("vote", "")))
        about = interaction.message.thread.tenant, interaction.id, self._identify(request).id
        try:
            if not await self._judging.vote(*about, vote):
                await self._judging.take_back(*about, vote)
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise web.HTTPNotFound(text=_NO_ANSWER) from error
        return await self._votes(request, interaction)

    async def reason(self, request: web.Request) -> web.Response:
        """Store why an answer did not help; an empty form clears reason and comment."""
        interaction = await self._judged(request)
        form = await request.post()
        comment = str(form.get("comment", "")).replace("\r\n", "\n").strip()
        if len(comment) > MAX_COMMENT_LENGTH:
            raise web.HTTPUnprocessableEntity(
                text=f"That is {len(comment):,} characters; say it in {MAX_COMMENT_LENGTH:,}."
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
            raise web.HTTPNotFound(text=_NO_ANSWER)
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


MAX_REOPEN_LENGTH = 1000
"""Maximum number of characters of a reopening message."""


class CaseActions:
    """Handlers of the escalation card under an answer."""

    def __init__(self, exchanges: Exchanges, cases: Cases, identify: Identify) -> None:
        self._exchanges = exchanges
        self._cases = cases
        self._identify = identify

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/chat/{conversation}/{id}/case", self.show)
        app.router.add_post("/chat/{conversation}/{id}/case", self.act)

    async def show(self, request: web.Request) -> web.Response:
        """Return the current card; 204 if the browser has this version."""
        interaction, case = await self._found(request)
        if request.query.get("version") == str(case.version):
            return web.Response(status=204)
        return _render_card(request, interaction, case)

    async def act(self, request: web.Request) -> web.Response:
        """Close or reopen a case; a refusal is shown on the card."""
        interaction, _ = await self._found(request)
        form = await request.post()
        act, text = _case_act(str(form.get("act", ""))), _reopen_text(str(form.get("text", "")))
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
        return _render_card(request, interaction, replace(case, trouble=trouble))

    async def _found(self, request: web.Request) -> tuple[Interaction, CaseCard]:
        interaction = await self._exchanges.own(request)
        case = await self._exchanges.case(interaction)
        if case is None:
            raise web.HTTPNotFound(text="Nobody was asked about this question.")
        return interaction, case


def _render_card(request: web.Request, interaction: Interaction, case: CaseCard) -> web.Response:
    context = {"conversation": interaction.message.thread.id, "case": case}
    return aiohttp_jinja2.render_template("web/case.html", request, context)


def _case_act(given: str) -> Act:
    if given == "resolve":
        return "resolve"
    if given == "reopen":
        return "reopen"
    raise web.HTTPUnprocessableEntity(text=f"Here one can 'resolve' or 'reopen', not {given!r}.")


def _reopen_text(given: str) -> str:
    words = given.replace("\r\n", "\n").strip()
    if len(words) > MAX_REOPEN_LENGTH:
        raise web.HTTPUnprocessableEntity(
            text=f"That is {len(words):,} characters; say it in {MAX_REOPEN_LENGTH:,}."
        )
    return words
