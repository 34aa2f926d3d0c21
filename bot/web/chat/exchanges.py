"""Load an exchange for its asker, check what they may still read, and render it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import aiohttp_jinja2
from aiohttp import web

from bot.answering.asker_identity import Reader
from bot.answering.visibility import ReadablePassages, Visibility, offered_passages, visibility_in
from bot.chat.votes import can_be_rated
from bot.domain.interactions import Escalation, Feedback, Interaction
from bot.domain.messages import InteractionId, Person, Thread
from bot.domain.ports import Interactions
from bot.domain.record_search import FoundQuestion, ThreadSummary
from bot.escalations.ports import Cases
from bot.web.auth.identity import principals_of
from bot.web.chat.answer_view import ExchangeView, exchange_view
from bot.web.chat.case_card import CaseCard, case_card
from rag.types import Chunk, Principal

Identify = Callable[[web.Request], Person]
"""Returns the caller of a request, as authenticated by bot.web.auth."""


class Conversations(Protocol):
    """Reads earlier exchanges of a conversation."""

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first."""
        ...


class ThreadHistory(Protocol):
    """A person's earlier conversations, without withdrawn questions; ``place`` is any of them.

    Raises bot.domain.errors.StoreUnavailable.
    """

    async def newest(
        self, place: Thread, limit: int, after: str | None = None
    ) -> Sequence[ThreadSummary]:
        """Return the most recent conversations, newest first; those after the id ``after``."""
        ...

    async def matching(
        self, place: Thread, words: str, limit: int, after: str | None = None
    ) -> Sequence[FoundQuestion]:
        """Return the questions that contain all words, newest first; those after the id ``after``.

        Only answered questions are found.
        """
        ...

    async def questions(self, thread: Thread) -> Sequence[InteractionId]:
        """Return the ids of all questions of a conversation, oldest first."""
        ...


class StoredPages(Protocol):
    """Reads the text of stored pages, with permission checks."""

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        """Count chunks by space. Raises rag.errors.IndexUnavailable."""
        ...

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        """Return a page's chunks in order; empty if it does not exist or may not be read."""
        ...


Listed = TypeVar("Listed", ThreadSummary, FoundQuestion)


class Exchanges:
    """Loads and renders the caller's own exchanges; any other is a 404."""

    def __init__(
        self,
        *,
        interactions: Interactions,
        cases: Cases,
        identify: Identify,
        readable: ReadablePassages,
        tenant: str,
    ) -> None:
        self._interactions = interactions
        self._readable = readable
        self._cases = cases
        self._identify = identify
        self._tenant = tenant

    def thread(self, person: Person, conversation: str) -> Thread:
        """Return the thread of a person's conversation."""
        return Thread("web", self._tenant, person.id, conversation)

    async def own(self, request: web.Request) -> Interaction:
        """Return the path's interaction if it is the caller's, in this conversation; else 404."""
        interaction = await self._interactions.get(InteractionId(request.match_info["id"]))
        conversation = valid_uuid(request.match_info["conversation"])
        thread = self.thread(self._identify(request), conversation)
        if interaction is None or interaction.message.thread != thread:
            raise web.HTTPNotFound(text="There is no such question in this conversation.")
        return interaction

    async def seen(self, request: web.Request, shown: Sequence[Interaction]) -> Visibility:
        """Return the caller's current visibility of some exchanges' sources."""
        if all(each.outcome is None for each in shown):
            return Visibility()
        reader = Reader(await principals_of(request, self._tenant))
        return await visibility_in(self._readable, self._tenant, shown, reader)

    async def listed(self, request: web.Request, found: Sequence[Listed]) -> Sequence[Listed]:
        """Return listed questions, with text from pages closed to the caller replaced.

        Only questions that are a chosen option have such text. They are rare; without one, no page
        is looked up.
        """
        asked = [await self._interactions.get(each.asked) for each in found]
        offered = [each for each in asked if each is not None and offered_passages(each)]
        if not offered:
            return found
        seen = await self.seen(request, offered)
        closed = {each.id for each in offered if seen.asked(each) is None}
        return [
            replace(each, question=seen.why_closed) if each.asked in closed else each
            for each in found
        ]

    async def view(
        self, request: web.Request, interaction: Interaction, seen: Visibility | None = None
    ) -> ExchangeView:
        """Return the view of an interaction for the caller.

        ``seen`` is the visibility, where it was resolved for several exchanges at once.
        """
        seen = seen or await self.seen(request, [interaction])
        if can_be_rated(interaction.outcome):
            given = await self.feedback_of(interaction.id, self._identify(request))
            return exchange_view(interaction, seen, given=given)
        if interaction.status == "working":
            reported = await self._interactions.stages(interaction.id)
            return exchange_view(interaction, seen, activity=reported[-1] if reported else None)
        return replace(exchange_view(interaction, seen), case=await self.case(interaction))

    async def fragment(
        self, request: web.Request, template: str, interaction: Interaction
    ) -> web.Response:
        """Render a template for one exchange."""
        return render_exchange(
            request, template, interaction, await self.view(request, interaction)
        )

    async def feedback_of(self, interaction_id: InteractionId, person: Person) -> Feedback | None:
        """Return a person's feedback for an answer, or None."""
        given = await self._interactions.feedback(interaction_id)
        return next((each for each in given if each.person_id == person.id), None)

    async def case(self, interaction: Interaction) -> CaseCard | None:
        """Return the card of an interaction's escalation; None without one."""
        if not may_have_case(interaction):
            return None
        case = await self._cases.get(self._tenant, interaction.id)
        if case is None:
            return None
        return case_card(case, await self._cases.steps(self._tenant, interaction.id))


def may_have_case(interaction: Interaction) -> bool:
    """Return whether a question may have an escalation, without looking it up."""
    outcome = interaction.outcome
    return (
        not interaction.withdrawn
        and outcome is not None
        and isinstance(outcome.response, Escalation)
    )


def render_exchange(
    request: web.Request, template: str, interaction: Interaction, exchange: ExchangeView
) -> web.Response:
    """Render a template with an exchange's view."""
    context = {"conversation": interaction.message.thread.id, "exchange": exchange}
    return aiohttp_jinja2.render_template(template, request, context)


def valid_uuid(given: str | None) -> str:
    """Return a valid id as a UUID; a new UUID for anything else."""
    try:
        return str(uuid.UUID(given or ""))
    except ValueError:
        return str(uuid.uuid4())


def wants_fragment(request: web.Request) -> bool:
    """Return whether htmx asks for a fragment; without JavaScript, browsers need a whole page."""
    return "HX-Request" in request.headers
