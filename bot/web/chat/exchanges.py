"""Find an exchange for the person who asked, check what they may see of it, and render it."""

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
"""Who is asking, as far as the doors vouch for it."""


class Conversations(Protocol):
    """Earlier exchanges of a conversation."""

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first."""
        ...


class ThreadHistory(Protocol):
    """What one person asked before. ``place`` is any thread of theirs; withdrawn ones are left out.

    Raises bot.domain.errors.StoreUnavailable.
    """

    async def newest(
        self, place: Thread, limit: int, after: str | None = None
    ) -> Sequence[ThreadSummary]:
        """Return the conversations last written to, newest first; after the one with that id."""
        ...

    async def matching(
        self, place: Thread, words: str, limit: int, after: str | None = None
    ) -> Sequence[FoundQuestion]:
        """Return the questions that have all the words, newest first; after the one with that id.

        A question is found once it is answered.
        """
        ...

    async def questions(self, thread: Thread) -> Sequence[InteractionId]:
        """Return every question of a conversation, oldest first."""
        ...


class StoredPages(Protocol):
    """The text of pages, for those who may read them."""

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        """Count chunks by space. Raises rag.errors.IndexUnavailable."""
        ...

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        """Return a page's chunks in order; empty when there is none or it may not be read."""
        ...


Listed = TypeVar("Listed", ThreadSummary, FoundQuestion)


class Exchanges:
    """What belongs to a person in a conversation; anything else is not found."""

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
        """Return where a person's conversation is."""
        return Thread("web", self._tenant, person.id, conversation)

    async def own(self, request: web.Request) -> Interaction:
        """Return the interaction if it belongs to this person and conversation, else 404."""
        interaction = await self._interactions.get(InteractionId(request.match_info["id"]))
        conversation = valid_uuid(request.match_info["conversation"])
        thread = self.thread(self._identify(request), conversation)
        if interaction is None or interaction.message.thread != thread:
            raise web.HTTPNotFound(text="There is no such question in this conversation.")
        return interaction

    async def seen(self, request: web.Request, shown: Sequence[Interaction]) -> Visibility:
        """Return what the one who looks may read now of what some exchanges came from."""
        if all(each.outcome is None for each in shown):
            return Visibility()
        reader = Reader(await principals_of(request, self._tenant))
        return await visibility_in(self._readable, self._tenant, shown, reader)

    async def listed(self, request: web.Request, found: Sequence[Listed]) -> Sequence[Listed]:
        """Return questions of a list without the words of pages closed to the one who looks.

        Only what was offered and chosen has such words; there is rarely any, and then no page is
        looked up.
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
        """Return what the page shows of an interaction to the one who looks.

        ``seen`` is what they may read, where it was asked for several exchanges at once.
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
        """Render a template of one exchange."""
        return render_exchange(
            request, template, interaction, await self.view(request, interaction)
        )

    async def feedback_of(self, interaction_id: InteractionId, person: Person) -> Feedback | None:
        """Return what a person said of an answer."""
        given = await self._interactions.feedback(interaction_id)
        return next((each for each in given if each.person_id == person.id), None)

    async def case(self, interaction: Interaction) -> CaseCard | None:
        """Return how it stands with the people who were asked; None where none were."""
        if not may_have_case(interaction):
            return None
        case = await self._cases.get(self._tenant, interaction.id)
        if case is None:
            return None
        return case_card(case, await self._cases.steps(self._tenant, interaction.id))


def may_have_case(interaction: Interaction) -> bool:
    """Tell whether a question may have gone to people, without looking it up."""
    outcome = interaction.outcome
    return (
        not interaction.withdrawn
        and outcome is not None
        and isinstance(outcome.response, Escalation)
    )


def render_exchange(
    request: web.Request, template: str, interaction: Interaction, exchange: ExchangeView
) -> web.Response:
    """Render what a template shows of an exchange."""
    context = {"conversation": interaction.message.thread.id, "exchange": exchange}
    return aiohttp_jinja2.render_template(template, request, context)


def valid_uuid(given: str | None) -> str:
    """Return an id as it was given; anything that is not one of ours becomes a new one."""
    try:
        return str(uuid.UUID(given or ""))
    except ValueError:
        return str(uuid.uuid4())


def wants_fragment(request: web.Request) -> bool:
    """Tell whether the page asks for a piece of itself; without scripts it wants a whole one."""
    return "HX-Request" in request.headers
