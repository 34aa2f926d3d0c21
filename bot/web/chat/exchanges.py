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
from bot.domain.handoff import is_person_request
from bot.domain.interactions import (
    Escalation,
    Feedback,
    Interaction,
)
from bot.domain.messages import InteractionId, Person, Thread, is_chosen_option
from bot.domain.ports import Interactions
from bot.domain.record_search import FoundQuestion, ThreadSummary
from bot.domain.texts import tr
from bot.domain.texts.dates import utc_moment
from bot.escalations.ports import Cases
from bot.web.auth.identity import person_of, principals_of
from bot.web.chat.answer_view import ExchangeView, exchange_view
from bot.web.chat.case_card import CaseCard
from bot.web.chat.case_card import case_card as card_of
from bot.web.chat.follow_ups import FollowUps
from bot.web.problems import problem

_SHOWN = 50
Listed = TypeVar("Listed", ThreadSummary, FoundQuestion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanges:
    """Loads and renders the caller's own exchanges; any other is a 404."""

    interactions: Interactions
    cases: Cases
    readable: ReadablePassages
    follow_ups: FollowUps
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

    async def as_last(
        self,
        request: web.Request,
        view: ExchangeView,
        shown: Sequence[Interaction],
        seen: Visibility,
    ) -> ExchangeView:
        """Return the view of the last of some exchanges, with what can be done with it alone."""
        last = shown[-1]
        asked = {each.message.text for each in shown}
        follow_ups = await self.follow_ups.offered(request, last, seen, asked)
        editable = view.case is None and is_editable(last)
        press = str(uuid.uuid4()) if follow_ups else ""
        return replace(view, follow_ups=follow_ups, press=press, editable=editable)

    async def exchange(
        self,
        request: web.Request,
        template: str,
        interaction: Interaction,
        view: ExchangeView | None = None,
    ) -> web.Response:
        """Render an exchange, or its answer; ``view`` is what it looks like, where it is known."""
        seen = await self.visibility(request, [interaction])
        view = view or await self.view(request, interaction, seen)
        shown = await self.interactions.in_thread(interaction.message.thread, _SHOWN)
        if [each.id for each in shown[-1:]] == [interaction.id]:
            view = await self.as_last(request, view, shown, seen)
        return _render(request, template, interaction, view)

    async def votes(self, request: web.Request, interaction: Interaction) -> web.Response:
        """Render how the caller judged an answer."""
        view = await self.view(request, interaction)
        return _render(request, "web/votes.html", interaction, view)

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


def _render(
    request: web.Request, template: str, interaction: Interaction, view: ExchangeView
) -> web.Response:
    context = {
        "conversation": interaction.message.thread.id,
        "exchange": view,
        "moment_text": utc_moment,
    }
    return aiohttp_jinja2.render_template(template, request, context)


def is_editable(interaction: Interaction) -> bool:
    """Return whether the words of a question are its asker's, so that they may change them.

    Whether it is the last one, and whether people have it, is for the caller to check.
    """
    outcome = interaction.outcome
    return not (
        interaction.withdrawn
        or is_person_request(interaction.message)
        or is_chosen_option(interaction.message)
        or (outcome is not None and outcome.is_kept_without_text)
    )


def valid_uuid(given: str | None) -> str:
    """Return a valid id as a UUID; a new UUID for anything else."""
    try:
        return str(uuid.UUID(given or ""))
    except ValueError:
        return str(uuid.uuid4())
