"""What people press on a card: they claim, release, resolve; a reply is asked for by a form."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.cases.card import BUTTONS
from bot.adapters.slack.cases.case_forms import decline_form, reply_form
from bot.adapters.slack.cases.experts import Experts
from bot.adapters.slack.pressed.pressing import GONE, Declined, Press, Presses, interaction_named
from bot.adapters.slack.showing.modals import Modals
from bot.adapters.slack.wire.text import escaped
from bot.errands import Errands
from bot.errors import ActRefused, InteractionUnknown
from bot.escalations import life
from bot.escalations.types import Act, Actor, Case
from bot.escalations.view import CaseView
from bot.readers import EVERYBODY
from bot.types import Interaction, InteractionId, Message, PostedRef
from rag.types import Principal


class Works(Protocol):
    """What is done to a case, and seen of it: bot.escalations.casework.Casework."""

    async def act(
        self, tenant: str, case_id: InteractionId, act: Act, actor: Actor, text: str = ""
    ) -> Case: ...

    async def shown(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView: ...

    async def bare(self, tenant: str, case_id: InteractionId) -> CaseView: ...


class Recorded(Protocol):
    """Where a question was asked, in the record."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...


class ShowsCards(Protocol):
    """Where cards are, and their upkeep: SlackChannel."""

    async def card_of(self, message: Message) -> PostedRef | None: ...

    async def show(self, message: Message, view: CaseView) -> None: ...


class CaseButtons:
    """Implements Registers: the buttons of a card.

    Whoever presses is a colleague who sees the channel of the card: Slack vouches for that.
    """

    def __init__(
        self,
        *,
        tenant: str,
        works: Works,
        recorded: Recorded,
        cards: ShowsCards,
        experts: Experts,
        presses: Presses,
        modals: Modals,
        errands: Errands,
    ) -> None:
        self._tenant = tenant
        self._works = works
        self._recorded = recorded
        self._cards = cards
        self._experts = experts
        self._presses = presses
        self._modals = modals
        self._errands = errands
        self._refreshing: set[InteractionId] = set()

    def register(self, bolt: AsyncApp) -> None:
        for act, name in BUTTONS.items():
            self._presses.on(bolt, name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> None:
        case_id = interaction_named(press.value)
        actor = await self._experts.actor(press.user)
        message = await self._at_card(case_id, press.channel)
        try:
            if act in {"reply", "decline"}:
                await self._ask_for_words(act, press, case_id, actor)
            else:
                await self._works.act(self._tenant, case_id, act, actor)
        except InteractionUnknown as error:
            raise Declined(GONE) from error
        except ActRefused as error:
            self._refresh(message)
            raise Declined(escaped(str(error))) from error

    async def _ask_for_words(
        self, act: Act, press: Press, case_id: InteractionId, actor: Actor
    ) -> None:
        """Open the form, unless it is known already that it would be refused."""
        case = (await self._works.bare(self._tenant, case_id)).case
        life.after(case.standing, act, actor, is_asker=actor.has(case.asker_id))
        form = reply_form(case) if act == "reply" else decline_form(case)
        await self._modals.open(press.trigger_id, form)

    async def _at_card(self, case_id: InteractionId, channel: str) -> Message:
        """Return the question whose card was pressed on. Raises Declined for any other."""
        asked = await self._recorded.get(case_id)
        if asked is None or asked.message.thread.tenant != self._tenant:
            raise Declined(GONE)
        at = await self._cards.card_of(asked.message)
        if at is None or at.channel != channel:
            raise Declined(GONE)
        return asked.message

    def _refresh(self, message: Message) -> None:
        """Show the card as it is to who saw another; once for all who press at the same time."""
        case_id = message.interaction_id
        if case_id not in self._refreshing:
            self._refreshing.add(case_id)
            self._errands.run(self._shown(message), what="card refreshed")

    async def _shown(self, message: Message) -> None:
        try:
            view = await self._works.shown(self._tenant, message.interaction_id, EVERYBODY)
            await self._cards.show(message, view)
        finally:
            self._refreshing.discard(message.interaction_id)
