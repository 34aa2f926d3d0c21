"""Handle buttons below a reply: ask a person, choose an option, show the private answer."""

from __future__ import annotations

import json
import re
from typing import Protocol

from slack_bolt.app.async_app import AsyncApp

from bot.answering.asker_identity import ReaderLookup
from bot.answering.permitted_views import PrivateAnswers
from bot.chat.actions import ActionRejected, ActionTargets, ButtonQuestions, interaction_named
from bot.domain.concurrency import BackgroundTasks
from bot.domain.interactions import Interaction, Reply
from bot.domain.messages import Message
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher
from bot.platforms.slack.payloads.actions import ASK_PERSON, MORE, OPTION
from bot.platforms.slack.payloads.events import response_url_of

_OPTION_ACTION = re.compile(rf"^{OPTION}:\d+$")


class RequestButtons:
    """Turns presses of "Ask a person" and of options into messages of the user, one per question.

    Implements `Listener`.
    """

    def __init__(
        self, *, wishing: ButtonQuestions, subjects: ActionTargets, presses: PressDispatcher
    ) -> None:
        self._wishing = wishing
        self._subjects = subjects
        self._presses = presses

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, ASK_PERSON, self._ask_person)
        self._presses.on(bolt, _OPTION_ACTION, self._choose)

    async def _ask_person(self, press: Press) -> None:
        asked = await self._pressed_below(press, press.value)
        reply_to = reply_reference(asked.message, press)
        await self._wishing.ask_person(asked, press.presser.person, reply_to=reply_to)

    async def _choose(self, press: Press) -> None:
        value, _, number = press.value.rpartition(":")
        asked = await self._pressed_below(press, value)
        reply_to = reply_reference(asked.message, press)
        await self._wishing.choose(asked, number, press.presser.person, reply_to=reply_to)

    async def _pressed_below(self, press: Press, value: str) -> Interaction:
        return await self._subjects.acted_on(interaction_named(value), press.presser)


def reply_reference(asked: Message, press: Press) -> str:
    """Return a press's ``reply_to``: its response URL if the question came by command, else ""."""
    return json.dumps({"response_url": press.response_url}) if response_url_of(asked) else ""


_ASKER_ONLY = "That is for the one who asked. Ask me yourself, and you get what you may read."


class ShowsPrivately(Protocol):
    """Shows a reply with its sources to a question's asker alone. Raises DeliveryFailed."""

    async def whisper(self, message: Message, reply: Reply) -> None: ...


class PrivateAnswerButton:
    """Shows askers their private answer, anew at each press. Implements `Listener`."""

    def __init__(
        self,
        *,
        subjects: ActionTargets,
        presses: PressDispatcher,
        readers: ReaderLookup,
        fuller: PrivateAnswers,
        whispers: ShowsPrivately,
        background: BackgroundTasks,
    ) -> None:
        self._subjects = subjects
        self._presses = presses
        self._readers = readers
        self._fuller = fuller
        self._whispers = whispers
        self._background = background

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, MORE, self._show)

    async def _show(self, press: Press) -> None:
        named = interaction_named(press.value)
        interaction = await self._subjects.seen(named, press.presser)
        if interaction.message.author.id != press.user:
            raise ActionRejected(_ASKER_ONLY)
        reader = await self._readers.of_asker(interaction.message)
        found = await self._fuller.of(interaction, reader)
        if found.reply is None:
            raise ActionRejected(found.why_not)
        whispered = self._whispers.whisper(interaction.message, found.reply)
        self._background.run(whispered, what="fuller answer")
