"""What people press on a card: they claim, release, resolve; a reply is asked for by a form."""

from __future__ import annotations

from functools import partial

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.cases.card import BUTTONS
from bot.adapters.slack.cases.case_forms import decline_form, reply_form
from bot.adapters.slack.cases.experts import Experts
from bot.adapters.slack.pressed.pressing import Press, Presses
from bot.adapters.slack.showing.modals import Modals
from bot.adapters.slack.wire.text import escaped
from bot.chat.actions import GONE, ActionRejected, interaction_named
from bot.domain.cases import Act, Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.types import InteractionId
from bot.escalations import lifecycle
from bot.escalations.cards import CardActions
from bot.escalations.casework import Works


class CaseButtons:
    """Implements Registers: the buttons of a card.

    Whoever presses is a colleague who sees the channel of the card: Slack vouches for that.
    """

    def __init__(
        self,
        *,
        tenant: str,
        works: Works,
        cards: CardActions,
        experts: Experts,
        presses: Presses,
        modals: Modals,
    ) -> None:
        self._tenant = tenant
        self._works = works
        self._cards = cards
        self._experts = experts
        self._presses = presses
        self._modals = modals

    def register(self, bolt: AsyncApp) -> None:
        for act, name in BUTTONS.items():
            self._presses.on(bolt, name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> None:
        case_id = interaction_named(press.value)
        actor = await self._experts.actor(press.user)
        try:
            message = await self._cards.question(case_id, press.channel)
            await self._done(act, press, case_id, actor)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        except ActRefused as error:
            self._cards.refresh(message)
            raise ActionRejected(escaped(str(error))) from error

    async def _done(self, act: Act, press: Press, case_id: InteractionId, actor: Actor) -> None:
        if act in {"reply", "decline"}:
            await self._ask_for_words(act, press, case_id, actor)
        else:
            await self._works.act(self._tenant, case_id, act, actor)

    async def _ask_for_words(
        self, act: Act, press: Press, case_id: InteractionId, actor: Actor
    ) -> None:
        """Open the form, unless it is known already that it would be refused."""
        case = (await self._works.bare(self._tenant, case_id)).case
        lifecycle.after(case.standing, act, actor, is_asker=actor.has(case.asker_id))
        form = reply_form(case) if act == "reply" else decline_form(case)
        await self._modals.open(press.trigger_id, form)
