"""Routes of the web chat: server-rendered fragments over the same inbox as every platform."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp_jinja2
from aiohttp import web

from bot.answering.explanations.view import explanation_view
from bot.answering.gate import Gate
from bot.answering.visibility import ReadablePassages
from bot.chat.votes import AnswerVotes, can_be_rated
from bot.domain.cases import Act, ActDetail, Actor
from bot.domain.errors import ActRefused, FeedbackInvalid, InteractionUnknown
from bot.domain.health import NOTHING_INDEXED
from bot.domain.interactions import Interaction, Vote, new_feedback
from bot.domain.ports import Inbox, Interactions
from bot.domain.record_search import Watches
from bot.domain.texts import tr
from bot.domain.texts.dates import utc_moment
from bot.escalations.lifecycle import ASKERS_ACTS
from bot.escalations.ports import Cases
from bot.store.interactions import StoredThreads
from bot.web.auth.identity import person_of, role_of
from bot.web.chat.case_card import CaseCard
from bot.web.chat.event_stream import EventStreams
from bot.web.chat.exchanges import Exchanges, valid_uuid
from bot.web.chat.follow_ups import FollowUps
from bot.web.chat.history import (
    CONVERSATION_COOKIE,
    HistoryQuery,
    HistoryRoutes,
    remember_conversation,
)
from bot.web.chat.question_routes import QuestionRoutes
from bot.web.chat.stored_pages import StoredPageRoutes, StoredPages
from bot.web.pages import add_pages, redirect_unless_fragment
from bot.web.problems import problem
from bot.web.question_forms import FILE_LIMITS, MAX_QUESTION, typed_text
from rag.errors import RagError

HERE = Path(__file__).parent
MAX_EXCHANGES = 50
MAX_COMMENT_LENGTH = 500
"""Characters; the API accepts more."""

MAX_REOPEN_LENGTH = 1000
"""Maximum number of characters of a reopening message."""

_NO_ANSWER = tr("There is no answer to rate.")


def mount_chat(
    app: web.Application,
    *,
    inbox: Inbox,
    interactions: Interactions,
    cases: Cases,
    watches: Watches,
    threads: StoredThreads,
    gate: Gate,
    pages: StoredPages,
    readable: ReadablePassages,
    tenant: str,
    data_dir: Path,
    starters: Sequence[str] = (),
    placeholder: str = "",
) -> None:
    """Add the web chat to an app; bot.web.problems renders its errors."""
    add_pages(app, HERE)
    exchanges = Exchanges(
        interactions=interactions,
        cases=cases,
        readable=readable,
        follow_ups=FollowUps(pages, tenant),
        tenant=tenant,
    )
    history = HistoryRoutes(threads=threads, inbox=inbox, exchanges=exchanges)
    # First, because the path of an answer would match the stream's.
    EventStreams(watches, exchanges).mount(app)
    ChatRoutes(
        exchanges=exchanges,
        history=history,
        interactions=interactions,
        gate=gate,
        pages=pages,
        tenant=tenant,
        starters=starters,
        placeholder=placeholder,
    ).mount(app)
    QuestionRoutes(
        exchanges=exchanges, inbox=inbox, interactions=interactions, data_dir=data_dir
    ).mount(app)
    FeedbackActions(exchanges, interactions).mount(app)
    CaseActions(exchanges, cases).mount(app)
    history.mount(app)
    StoredPageRoutes(pages, tenant).mount(app)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRoutes:
    """Handlers of the conversation's page, and of its answers."""

    exchanges: Exchanges
    history: HistoryRoutes
    interactions: Interactions
    gate: Gate
    pages: StoredPages
    tenant: str
    starters: Sequence[str]
    placeholder: str

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/", self.chat)
        app.router.add_get("/c/{conversation}", self.chat)
        app.router.add_post("/conversations", self.start_over)
        app.router.add_get("/chat/{conversation}/{id}", self.answer)
        app.router.add_get("/chat/{conversation}/{id}/why", self.why)

    async def chat(self, request: web.Request) -> web.Response:
        """Show a conversation: the one in the path, else the open one."""
        named = request.match_info.get("conversation")
        conversation = valid_uuid(named or request.cookies.get(CONVERSATION_COOKIE))
        thread = self.exchanges.thread(request, conversation)
        shown = await self.interactions.in_thread(thread, MAX_EXCHANGES)
        seen = await self.exchanges.visibility(request, shown)
        exchanges = [await self.exchanges.view(request, each, seen) for each in shown]
        if shown:
            exchanges[-1] = await self.exchanges.as_last(request, exchanges[-1], shown, seen)
        response = aiohttp_jinja2.render_template(
            "web/chat.html",
            request,
            {
                "conversation": conversation,
                "exchanges": exchanges,
                "moment_text": utc_moment,
                "starters": self.starters,
                "placeholder": self.placeholder,
                "trouble": "" if exchanges else await self._nothing_indexed(),
                "shortened": len(exchanges) == MAX_EXCHANGES,
                "longest": MAX_QUESTION,
                "file_limits": FILE_LIMITS,
                **await self.history.beside(request, HistoryQuery(open=conversation)),
            },
        )
        remember_conversation(response, conversation)
        return response

    async def _nothing_indexed(self) -> str:
        """Return the notice for an empty index, else ""."""
        try:
            return "" if await self.pages.spaces(self.tenant) else NOTHING_INDEXED
        except RagError:
            return ""

    async def start_over(self, _: web.Request) -> web.Response:
        """Start a new conversation; the old one stays stored."""
        response = web.HTTPSeeOther("/")
        remember_conversation(response, str(uuid.uuid4()))
        raise response

    async def answer(self, request: web.Request) -> web.Response:
        """Return the answer or the progress; 204 if the browser shows this step already."""
        interaction = await self.exchanges.own_interaction(request)
        exchange = await self.exchanges.view(request, interaction)
        if exchange.working and exchange.step == request.query.get("step"):
            return web.Response(status=204)
        return await self.exchanges.exchange(request, "web/answer.html", interaction, exchange)

    async def why(self, request: web.Request) -> web.Response:
        """Explain an answer from its record."""
        interaction = await self.exchanges.own_interaction(request)
        outcome = interaction.outcome
        if outcome is None:
            raise problem(404, tr("There is no answer to explain yet."))
        seen = await self.exchanges.visibility(request, [interaction])
        shown = seen.explained(interaction, outcome)
        left_out = len(shown.trace.passages) < len(outcome.trace.passages)
        why = explanation_view(
            shown,
            self.gate,
            closed=seen.why_closed if left_out else "",
            scored=role_of(request) == "admin",
            filters=interaction.message.search_filters,
        )
        return aiohttp_jinja2.render_template("web/why.html", request, {"why": why})


@dataclass(frozen=True, slots=True)
class FeedbackActions:
    """Handlers of votes and reasons; later feedback replaces earlier feedback."""

    exchanges: Exchanges
    interactions: Interactions

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_post("/chat/{conversation}/{id}/vote", self.vote)
        app.router.add_post("/chat/{conversation}/{id}/reason", self.reason)

    async def vote(self, request: web.Request) -> web.Response:
        """Store a vote; the same vote again deletes it, with its reason and comment."""
        interaction = await self.exchanges.own_interaction(request)
        vote = _thumb(str((await request.post()).get("vote", "")))
        about = interaction.message.thread.tenant, interaction.id, person_of(request).id
        votes = AnswerVotes(self.interactions)
        try:
            if not await votes.vote(*about, vote):
                await votes.take_back(*about, vote)
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise problem(404, _NO_ANSWER) from error
        return await self._votes(request, interaction)

    async def reason(self, request: web.Request) -> web.Response:
        """Store why an answer did not help; an empty form clears reason and comment."""
        interaction = await self._rateable(request)
        form = await request.post()
        comment = typed_text(form.get("comment"), MAX_COMMENT_LENGTH)
        try:
            said = new_feedback(
                interaction.id,
                person_of(request).id,
                "down",
                reason=str(form.get("reason", "")) or None,
                comment=comment,
            )
        except FeedbackInvalid as error:
            raise problem(422, str(error)) from error
        await self.interactions.rate(said)
        return await self._votes(request, interaction)

    async def _rateable(self, request: web.Request) -> Interaction:
        interaction = await self.exchanges.own_interaction(request)
        if not can_be_rated(interaction.outcome):
            raise problem(404, _NO_ANSWER)
        return interaction

    async def _votes(self, request: web.Request, interaction: Interaction) -> web.Response:
        redirect_unless_fragment(request, f"/#x-{interaction.id}")
        return await self.exchanges.votes(request, interaction)


def _thumb(given: str) -> Vote:
    if given == "up":
        return "up"
    if given == "down":
        return "down"
    raise problem(422, f"A vote is 'up' or 'down', not {given!r}.")


@dataclass(frozen=True, slots=True)
class CaseActions:
    """Handlers of the escalation card under an answer."""

    exchanges: Exchanges
    cases: Cases

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
        """Close or reopen a case, or answer a request; a refusal is shown on the card."""
        interaction, _ = await self._found(request)
        form = await request.post()
        act = _case_act(str(form.get("act", "")))
        text = typed_text(form.get("text"), MAX_REOPEN_LENGTH)
        person = person_of(request)
        actor = Actor(person.id, person.name, "asker")
        trouble = ""
        try:
            await self.cases.act(
                interaction.message.thread.tenant, interaction.id, act, actor, text, _about(form)
            )
        except ActRefused as error:
            trouble = str(error)
        redirect_unless_fragment(request, f"/#x-{interaction.id}")
        interaction, case = await self._found(request)
        return _render_card(request, interaction, replace(case, trouble=trouble))

    async def _found(self, request: web.Request) -> tuple[Interaction, CaseCard]:
        interaction = await self.exchanges.own_interaction(request)
        case = await self.exchanges.case_card(interaction)
        if case is None:
            raise problem(404, tr("Nobody was asked about this question."))
        return interaction, case


def _render_card(request: web.Request, interaction: Interaction, case: CaseCard) -> web.Response:
    context = {
        "conversation": interaction.message.thread.id,
        "case": case,
        "moment_text": utc_moment,
    }
    return aiohttp_jinja2.render_template("web/case.html", request, context)


def _case_act(given: str) -> Act:
    for act in sorted(ASKERS_ACTS):
        if given == act:
            return act
    possible = ", ".join(map(repr, sorted(ASKERS_ACTS)))
    raise problem(422, f"Send one of {possible}, not {given!r}.")


def _about(form: Mapping[str, object]) -> ActDetail:
    """Return the request to see more that a form answers."""
    given = str(form.get("about", ""))
    number = int(given) if re.fullmatch("[1-9][0-9]{0,8}", given) else 0
    return ActDetail(about=number)
