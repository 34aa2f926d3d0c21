"""Routes of the web chat: server-rendered fragments over the same inbox as every platform."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import aiohttp_jinja2
from aiohttp import web

from bot.answering.explanations.view import explanation_view
from bot.answering.gate import Gate
from bot.answering.visibility import ReadablePassages
from bot.domain.handoff import person_request
from bot.domain.health import NOTHING_INDEXED
from bot.domain.interactions import Interaction
from bot.domain.messages import Message
from bot.domain.person_requests import person_request_id
from bot.domain.ports import Inbox, Interactions
from bot.domain.record_search import Watches
from bot.escalations.ports import Cases
from bot.web.auth.identity import role_of
from bot.web.chat.actions import CaseActions, FeedbackActions
from bot.web.chat.event_stream import EventStreams
from bot.web.chat.exchanges import (
    Conversations,
    Exchanges,
    Identify,
    StoredPages,
    ThreadHistory,
    render_exchange,
    valid_uuid,
    wants_fragment,
)
from bot.web.chat.history import (
    CONVERSATION_COOKIE,
    HistoryQuery,
    HistoryRoutes,
    remember_conversation,
)
from bot.web.chat.stored_pages import StoredPageRoutes
from bot.web.pages.layout import add_pages
from rag.errors import RagError

HERE = Path(__file__).parent
MAX_QUESTION = 4000
MAX_EXCHANGES = 50


class WebChat:
    """Handlers of the web chat; stateless. bot.web.problems renders its errors."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        interactions: Interactions,
        conversations: Conversations,
        cases: Cases,
        watches: Watches,
        threads: ThreadHistory,
        gate: Gate,
        pages: StoredPages,
        readable: ReadablePassages,
        identify: Identify,
        tenant: str,
        starters: Sequence[str] = (),
        placeholder: str = "",
    ) -> None:
        self._inbox = inbox
        self._interactions = interactions
        self._conversations = conversations
        self._gate = gate
        self._pages = pages
        self._identify = identify
        self._tenant = tenant
        self._starters = tuple(starters)
        self._placeholder = placeholder
        self._exchanges = Exchanges(
            interactions=interactions,
            cases=cases,
            identify=identify,
            readable=readable,
            tenant=tenant,
        )
        self._voting = FeedbackActions(self._exchanges, interactions, identify)
        self._acts = CaseActions(self._exchanges, cases, identify)
        self._history = HistoryRoutes(
            threads=threads, inbox=inbox, exchanges=self._exchanges, identify=identify
        )
        self._live = EventStreams(watches, self._exchanges, identify)

    def mount(self, app: web.Application) -> None:
        """Add the routes, the templates and the static files."""
        add_pages(app, HERE)
        app.router.add_get("/", self.chat)
        app.router.add_get("/c/{conversation}", self.chat)
        app.router.add_post("/conversations", self.start_over)
        app.router.add_post("/chat/{conversation}", self.ask)
        self._live.mount(app)
        app.router.add_get("/chat/{conversation}/{id}", self.answer)
        app.router.add_post("/chat/{conversation}/{id}/person", self.person)
        app.router.add_post("/chat/{conversation}/{id}/withdraw", self.withdraw)
        app.router.add_get("/chat/{conversation}/{id}/why", self.why)
        self._voting.mount(app)
        self._acts.mount(app)
        self._history.mount(app)
        StoredPageRoutes(self._pages, self._tenant).mount(app)

    async def chat(self, request: web.Request) -> web.Response:
        """Show a conversation: the one in the path, else the open one."""
        named = request.match_info.get("conversation")
        conversation = valid_uuid(named or request.cookies.get(CONVERSATION_COOKIE))
        thread = self._exchanges.thread(self._identify(request), conversation)
        shown = await self._conversations.in_thread(thread, MAX_EXCHANGES)
        seen = await self._exchanges.seen(request, shown)
        exchanges = [await self._exchanges.view(request, each, seen) for each in shown]
        response = aiohttp_jinja2.render_template(
            "web/chat.html",
            request,
            {
                "conversation": conversation,
                "exchanges": exchanges,
                "starters": self._starters,
                "placeholder": self._placeholder,
                "trouble": "" if exchanges else await self._nothing_indexed(),
                "shortened": len(exchanges) == MAX_EXCHANGES,
                "longest": MAX_QUESTION,
                **await self._history.beside(request, HistoryQuery(open=conversation)),
            },
        )
        remember_conversation(response, conversation)
        return response

    async def _nothing_indexed(self) -> str:
        """Return the notice for an empty index, else ""."""
        try:
            return "" if await self._pages.spaces(self._tenant) else NOTHING_INDEXED
        except RagError:
            return ""

    async def start_over(self, _: web.Request) -> web.Response:
        """Start a new conversation; the old one stays stored."""
        response = web.HTTPSeeOther("/")
        remember_conversation(response, str(uuid.uuid4()))
        raise response

    async def ask(self, request: web.Request) -> web.Response:
        """Accept a question and return its bubble, which then polls for the answer.

        The page gives each question an id, so that a double click sends the same question, not
        another.
        """
        form = await request.post()
        question = str(form.get("question", "")).replace("\r\n", "\n").strip()
        if not question:
            raise web.HTTPUnprocessableEntity(text="Type a question first.")
        if len(question) > MAX_QUESTION:
            raise web.HTTPUnprocessableEntity(
                text=f"That is {len(question):,} characters; ask with at most {MAX_QUESTION:,}."
            )
        accepted = await self._accept(request, question, valid_uuid(str(form.get("message", ""))))
        if not wants_fragment(request):
            raise web.HTTPSeeOther("/")
        return accepted

    async def person(self, request: web.Request) -> web.Response:
        """Request a person for an earlier question; idempotent."""
        interaction = await self._exchanges.own(request)
        once = person_request_id(interaction.message.id)
        accepted = await self._accept(request, await self._wish(request, interaction), once)
        if not wants_fragment(request):
            raise web.HTTPSeeOther("/")
        return accepted

    async def _wish(self, request: web.Request, asked: Interaction) -> str:
        """Return the text of the request; it names the question unless that is the last one."""
        seen = await self._exchanges.seen(request, [asked])
        if seen.asked(asked) is None:
            # Its text comes from a page that the asker may not read, and experts perhaps even less.
            raise web.HTTPConflict(text=seen.why_closed)
        last = await self._conversations.in_thread(asked.message.thread, 1)
        is_last = [each.id for each in last] == [asked.id]
        return person_request("" if is_last else asked.message.text)

    async def answer(self, request: web.Request) -> web.Response:
        """Return the answer or the progress; 204 if the browser shows this step already."""
        interaction = await self._exchanges.own(request)
        exchange = await self._exchanges.view(request, interaction)
        if exchange.working and exchange.step == request.query.get("step"):
            return web.Response(status=204)
        return render_exchange(request, "web/answer.html", interaction, exchange)

    async def withdraw(self, request: web.Request) -> web.Response:
        """Delete a question and its answer; idempotent."""
        interaction = await self._exchanges.own(request)
        await self._inbox.cancel(interaction.id)
        if not wants_fragment(request):
            raise web.HTTPSeeOther("/")
        interaction = await self._exchanges.own(request)
        return await self._exchanges.fragment(request, "web/exchange.html", interaction)

    async def why(self, request: web.Request) -> web.Response:
        """Explain an answer from its record."""
        interaction = await self._exchanges.own(request)
        outcome = interaction.outcome
        if outcome is None:
            raise web.HTTPNotFound(text="There is no answer to explain yet.")
        seen = await self._exchanges.seen(request, [interaction])
        shown = seen.explained(interaction, outcome)
        left_out = len(shown.trace.passages) < len(outcome.trace.passages)
        why = explanation_view(
            shown,
            self._gate,
            closed=seen.why_closed if left_out else "",
            scored=role_of(request) == "admin",
        )
        return aiohttp_jinja2.render_template("web/why.html", request, {"why": why})

    async def _accept(self, request: web.Request, text: str, message_id: str) -> web.Response:
        person = self._identify(request)
        message = Message(
            id=message_id,
            thread=self._exchanges.thread(person, valid_uuid(request.match_info["conversation"])),
            author=person,
            text=text,
            received_at=datetime.now(UTC),
            private=True,
        )
        interaction = await self._interactions.get(await self._inbox.accept(message))
        if interaction is None:
            raise web.HTTPServiceUnavailable(text="Your question could not be kept; ask again.")
        return await self._exchanges.fragment(request, "web/exchange.html", interaction)
