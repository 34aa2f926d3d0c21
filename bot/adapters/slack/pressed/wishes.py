"""Buttons that ask something in the name of whoever presses them: for a person, for an option."""

from __future__ import annotations

import json
import re

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.pressed.pressing import Press, Presses
from bot.adapters.slack.wire.actions import ASK_PERSON, OPTION
from bot.adapters.slack.wire.reply_to import response_url_of
from bot.chat.actions import ActionTargets, ButtonQuestions, interaction_named
from bot.domain.types import Interaction, Message

_OPTIONS = re.compile(rf"^{OPTION}:\d+$")


class Wishes:
    """Implements Registers: a press is a message of its presser, once for each question."""

    def __init__(
        self, *, wishing: ButtonQuestions, subjects: ActionTargets, presses: Presses
    ) -> None:
        self._wishing = wishing
        self._subjects = subjects
        self._presses = presses

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, ASK_PERSON, self._ask_person)
        self._presses.on(bolt, _OPTIONS, self._choose)

    async def _ask_person(self, press: Press) -> None:
        asked = await self._pressed_below(press, press.value)
        reply_to = answered_at(asked.message, press)
        await self._wishing.ask_person(asked, press.presser.person, reply_to=reply_to)

    async def _choose(self, press: Press) -> None:
        value, _, number = press.value.rpartition(":")
        asked = await self._pressed_below(press, value)
        reply_to = answered_at(asked.message, press)
        await self._wishing.choose(asked, number, press.presser.person, reply_to=reply_to)

    async def _pressed_below(self, press: Press, value: str) -> Interaction:
        return await self._subjects.acted_on(interaction_named(value), press.presser)


def answered_at(asked: Message, press: Press) -> str:
    """Return where a press is answered: where the question came by a command, at the press."""
    return json.dumps({"response_url": press.response_url}) if response_url_of(asked) else ""
