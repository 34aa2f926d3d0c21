"""The web chat's routes: server-rendered fragments over the same inbox as every platform."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import aiohttp_jinja2
from aiohttp import web

from bot.adapters.web.ports import Conversations, Identify, StoredPages
from bot.adapters.web.reader import PageReader
from bot.adapters.web.view import ExchangeView, exchange_view, rateable
from bot.adapters.web.why import why_view
from bot.pages.frame import add_pages
from bot.ports import Inbox, Interactions
from bot.types import Feedback, Interaction, InteractionId, Message, Person, Stage, Thread

HERE = Path(__file__).parent
COOKIE = "frontdesk_conversation"
ASK_A_PERSON = "I'd like to ask a person, please."
LONGEST_QUESTION = 4000
SHOWN = 50


class WebChat:
    """Handlers of the chat page; holds no state of its own. bot.problems words its errors."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        interactions: Interactions,
        conversations: Conversations,
        pages: StoredPages,
        identify: Identify,
        tenant: str,
        starters: Sequence[str] = (),
    ) -> None:
        self._inbox = inbox
        self._interactions = interactions
        self._conversations = conversations
        self._pages = pages
        self._identify = identify
        self._tenant = tenant
        self._starters = tuple(starters)

    def mount(self, app: web.Application) -> None:
        """Add the routes, the templates and the static files."""
        add_pages(app, HERE)
        app.router.add_get("/", self.chat)
        app.router.add_post("/conversations", self.start_over)
        app.router.add_post("/chat/{conversation}", self.ask)
        app.router.add_get("/chat/{conversation}/{id}", self.answer)
        app.router.add_post("/chat/{conversation}/{id}/vote", self.vote)
        app.router.add_post("/chat/{conversation}/{id}/person", self.person)
        app.router.add_post("/chat/{conversation}/{id}/withdraw", self.withdraw)
        app.router.add_get("/chat/{conversation}/{id}/why", self.why)
        PageReader(self._pages, self._identify, self._tenant).mount(app)

    async def chat(self, request: web.Request) -> web.Response:
        """Show the conversation of this browser."""
        conversation = _uuid(request.cookies.get(COOKIE))
        thread = self._thread(self._identify(request), conversation)
        exchanges = [
            await self._exchange(request, interaction)
            for interaction in await self._conversations.in_thread(thread, SHOWN)
        ]
        response = aiohttp_jinja2.render_template(
            "web/chat.html",
            request,
            {
                "conversation": conversation,
                "exchanges": exchanges,
                "starters": self._starters,
                "shortened": len(exchanges) == SHOWN,
                "longest": LONGEST_QUESTION,
            },
        )
        _remember(response, conversation)
        return response

    async def start_over(self, _: web.Request) -> web.Response:
        """Begin a new conversation; the old one is kept in the record."""
        response = web.HTTPSeeOther("/")
        _remember(response, str(uuid.uuid4()))
        raise response

    async def ask(self, request: web.Request) -> web.Response:
        """Accept a question and return its bubble, which then polls for the answer.

        The page names each question, so that a second click asks the same one, not another.
        """
        form = await request.post()
        question = str(form.get("question", "")).replace("\r\n", "\n").strip()
        if not question:
            raise web.HTTPUnprocessableEntity(text="Type a question first.")
        if len(question) > LONGEST_QUESTION:
            raise web.HTTPUnprocessableEntity(
                text=f"That is {len(question):,} characters; ask with at most {LONGEST_QUESTION:,}."
            )
        accepted = await self._accept(request, question, _uuid(str(form.get("message", ""))))
        if "HX-Request" not in request.headers:
            raise web.HTTPSeeOther("/")
        return accepted

    async def person(self, request: web.Request) -> web.Response:
        """Ask for a person about an earlier question; asking again is the same request."""
        interaction = await self._own(request)
        once = str(uuid.uuid5(uuid.NAMESPACE_URL, f"person:{interaction.id}"))
        return await self._accept(request, ASK_A_PERSON, once)

    async def answer(self, request: web.Request) -> web.Response:
        """Return the answer or the state of the work; nothing (204) if that is known already."""
        interaction = await self._own(request)
        exchange = await self._exchange(request, interaction)
        if exchange.working and exchange.step == request.query.get("step"):
            return web.Response(status=204)
        return _render(request, "web/answer.html", interaction, exchange)

    async def vote(self, request: web.Request) -> web.Response:
        """Keep a thumb; the same thumb again takes it back."""
        interaction = await self._own(request)
        given = str((await request.post()).get("vote", ""))
        if given not in {"up", "down"}:
            raise web.HTTPUnprocessableEntity(text=f"A vote is 'up' or 'down', not {given!r}.")
        if not rateable(interaction):
            raise web.HTTPNotFound(text="There is no answer to judge.")
        person = self._identify(request)
        if await self._vote_of(interaction.id, person) == given:
            await self._interactions.unrate(interaction.id, person.id)
        else:
            await self._interactions.rate(
                Feedback(
                    interaction_id=interaction.id,
                    person_id=person.id,
                    vote="up" if given == "up" else "down",
                    given_at=datetime.now(UTC),
                )
            )
        return await self._fragment(request, "web/votes.html", interaction)

    async def withdraw(self, request: web.Request) -> web.Response:
        """Delete a question and what became of it; what is withdrawn already stays so."""
        interaction = await self._own(request)
        await self._inbox.cancel(interaction.id)
        if "HX-Request" not in request.headers:
            raise web.HTTPSeeOther("/")
        return await self._fragment(request, "web/exchange.html", await self._own(request))

    async def why(self, request: web.Request) -> web.Response:
        """Explain an answer from its record."""
        interaction = await self._own(request)
        if interaction.outcome is None:
            raise web.HTTPNotFound(text="There is no answer to explain yet.")
        return aiohttp_jinja2.render_template(
            "web/why.html", request, {"why": why_view(interaction.outcome)}
        )

    async def _accept(self, request: web.Request, text: str, message_id: str) -> web.Response:
        person = self._identify(request)
        message = Message(
            id=message_id,
            thread=self._thread(person, _uuid(request.match_info["conversation"])),
            author=person,
            text=text,
            received_at=datetime.now(UTC),
            private=True,
        )
        interaction = await self._interactions.get(await self._inbox.accept(message))
        if interaction is None:
            raise web.HTTPServiceUnavailable(text="Your question could not be kept; ask again.")
        return await self._fragment(request, "web/exchange.html", interaction)

    async def _own(self, request: web.Request) -> Interaction:
        """Return the interaction if it belongs to this person and conversation, else 404."""
        interaction = await self._interactions.get(InteractionId(request.match_info["id"]))
        person = self._identify(request)
        thread = self._thread(person, _uuid(request.match_info["conversation"]))
        if interaction is None or interaction.message.thread != thread:
            raise web.HTTPNotFound(text="There is no such question in this conversation.")
        return interaction

    async def _fragment(
        self, request: web.Request, template: str, interaction: Interaction
    ) -> web.Response:
        exchange = await self._exchange(request, interaction)
        return _render(request, template, interaction, exchange)

    async def _exchange(self, request: web.Request, interaction: Interaction) -> ExchangeView:
        if rateable(interaction):
            vote = await self._vote_of(interaction.id, self._identify(request))
            return exchange_view(interaction, vote=vote)
        if interaction.status != "working":
            return exchange_view(interaction)
        stages = await self._interactions.stages(interaction.id)
        return exchange_view(interaction, stage=stages[-1] if stages else Stage.RECEIVED)

    async def _vote_of(self, interaction_id: InteractionId, person: Person) -> str | None:
        votes = await self._interactions.feedback(interaction_id)
        return next((vote.vote for vote in votes if vote.person_id == person.id), None)

    def _thread(self, person: Person, conversation: str) -> Thread:
        return Thread("web", self._tenant, person.id, conversation)


def _render(
    request: web.Request, template: str, interaction: Interaction, exchange: ExchangeView
) -> web.Response:
    context = {"conversation": interaction.message.thread.id, "exchange": exchange}
    return aiohttp_jinja2.render_template(template, request, context)


def _uuid(given: str | None) -> str:
    """Return an id as it was given; anything that is not one of ours becomes a new one."""
    try:
        return str(uuid.UUID(given or ""))
    except ValueError:
        return str(uuid.uuid4())


def _remember(response: web.StreamResponse, conversation: str) -> None:
    response.set_cookie(COOKIE, conversation, httponly=True, samesite="Strict", max_age=30 * 86400)
