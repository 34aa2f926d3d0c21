"""Load an exchange for its asker, check what they may still read, and render it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import aiohttp_jinja2
from aiohttp import web

from bot.answering.asker_identity import Reader
from bot.answering.visibility import ReadablePassages, Visibility, may_name_page, visibility_in
from bot.chat.votes import can_be_rated
from bot.domain.interactions import Escalation, Feedback, Interaction
from bot.domain.messages import InteractionId, Person, Thread
from bot.domain.ports import Interactions
from bot.domain.record_search import FoundQuestion, ThreadSummary
from bot.domain.texts import tr
from bot.domain.texts.dates import utc_moment
from bot.escalations.ports import Cases
from bot.web.auth.identity import person_of, principals_of
from bot.web.chat.answer_view import ExchangeView, exchange_view
from bot.web.chat.case_card import CaseCard
from bot.web.chat.case_card import case_card as card_of
from bot.web.problems import problem

Listed = TypeVar("Listed", ThreadSummary, FoundQuestion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanges:
    """Loads and renders the caller's own exchanges; any other is a 404."""

    interactions: Interactions
    cases: Cases
    readable: ReadablePassages
    tenant: str

    def thread(self, request: web.Request, conversation: str) -> Thread:
        """Return the thread of the caller's conversation."""
        return Thread("web", self.tenant, person_of(request).id, conversation)

    async def own_interaction(self, request: web.Request) -> Interaction:
        """Return the path's interaction if it is the caller's, in this conversation; else 404."""
        interaction = await self.interactions.get(InteractionId(request.match_info["id"]))
        conversation = valid_uuid(request.match_info["conversation"])
        thread = self.thread(request, conversation)
        if interaction is None or interaction.message.thread != thread:
            raise problem(404, tr("This question is not in this conversation."))
        return interaction

    async def visibility(self, request: web.Request, shown: Sequence[Interaction]) -> Visibility:
        """Return the caller's current visibility of some exchanges' sources."""
        if all(each.outcome is None for each in shown):
            return Visibility()
        reader = Reader(await principals_of(request, self.tenant))
        return await visibility_in(self.readable, self.tenant, shown, reader)

    async def redacted(self, request: web.Request, found: Sequence[Listed]) -> Sequence[Listed]:
        """Return listed questions, with text from pages closed to the caller replaced.

        Only questions that are a chosen option have such text. They are rare; without one, no page
        is looked up.
        """
        asked = [await self.interactions.get(each.asked) for each in found]
        offered = [each for each in asked if each is not None and may_name_page(each)]
        if not offered:
            return found
        seen = await self.visibility(request, offered)
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
        seen = seen or await self.visibility(request, [interaction])
        if can_be_rated(interaction.outcome):
            given = await self.feedback_of(interaction.id, person_of(request))
            return exchange_view(interaction, seen, given=given)
        if interaction.status == "working":
            reported = await self.interactions.stages(interaction.id)
            return exchange_view(interaction, seen, activity=reported[-1] if reported else None)
        return replace(exchange_view(interaction, seen), case=await self.case_card(interaction))

    async def fragment(
        self, request: web.Request, template: str, interaction: Interaction
    ) -> web.Response:
        """Render a template for one exchange."""
        return render_exchange(
            request, template, interaction, await self.view(request, interaction)
        )

    async def feedback_of(self, interaction_id: InteractionId, person: Person) -> Feedback | None:
        """Return a person's feedback for an answer, or None."""
        given = await self.interactions.feedback(interaction_id)
        return next((each for each in given if each.person_id == person.id), None)

    async def case_card(self, interaction: Interaction) -> CaseCard | None:
        """Return the card of an interaction's escalation; None without one."""
        if not may_have_case(interaction):
            return None
        case = await self.cases.get(self.tenant, interaction.id)
        if case is None:
            return None
        return card_of(case, await self.cases.steps(self.tenant, interaction.id))


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
    context = {
        "conversation": interaction.message.thread.id,
        "exchange": exchange,
        "moment_text": utc_moment,
    }
    return aiohttp_jinja2.render_template(template, request, context)


def valid_uuid(given: str | None) -> str:
    """Return a valid id as a UUID; a new UUID for anything else."""
    try:
        return str(uuid.UUID(given or ""))
    except ValueError:
        return str(uuid.uuid4())
