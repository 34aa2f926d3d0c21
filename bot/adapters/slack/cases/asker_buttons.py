"""What an asker presses below the news of their question: it is closed, or asked again."""

from __future__ import annotations

from functools import partial

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.cases.news import BUTTONS
from bot.adapters.slack.pressed.pressing import Press, Presses
from bot.adapters.slack.wire.reply_to import response_url_of
from bot.adapters.slack.wire.text import escaped
from bot.chat.actions import ASKER_ONLY, GONE, ActionRejected, interaction_named
from bot.domain.cases import Act, Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.types import InteractionId, Message
from bot.escalations.cards import Recorded
from bot.escalations.casework import Works


class AskerButtons:
    """Implements Registers: the asker's buttons; others see them and can't use them."""

    def __init__(self, *, tenant: str, works: Works, recorded: Recorded, presses: Presses) -> None:
        self._tenant = tenant
        self._works = works
        self._recorded = recorded
        self._presses = presses

    def register(self, bolt: AsyncApp) -> None:
        for act, name in BUTTONS.items():
            self._presses.on(bolt, name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> None:
        case_id = interaction_named(press.value)
        message = await self._asked_there(case_id, press)
        if message.author.id != press.user:
            raise ActionRejected(ASKER_ONLY)
        actor = Actor(message.author.id, message.author.name, "asker")
        try:
            await self._works.act(self._tenant, case_id, act, actor)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        except ActRefused as error:
            raise ActionRejected(escaped(str(error))) from error

    async def _asked_there(self, case_id: InteractionId, press: Press) -> Message:
        """Return the question; who asked by command is told elsewhere, and presses there."""
        asked = await self._recorded.get(case_id)
        thread = asked.message.thread if asked else None
        if asked is None or thread is None:
            raise ActionRejected(GONE)
        channel = press.channel if response_url_of(asked.message) else thread.channel
        if (thread.platform, thread.tenant, channel) != ("slack", self._tenant, press.channel):
            raise ActionRejected(GONE)
        return asked.message
