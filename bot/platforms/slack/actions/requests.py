"""Handle buttons below a reply: ask a person, choose an option, show the private answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from slack_bolt.app.async_app import AsyncApp

from bot.answering.asker_identity import ReaderLookup
from bot.answering.private_answers import PrivateAnswers
from bot.chat.actions import ActionRejected, ActionTargets, ButtonQuestions, interaction_named
from bot.domain.concurrency import BackgroundTasks
from bot.domain.interactions import Interaction, Reply
from bot.domain.messages import Message
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher
from bot.platforms.slack.payloads.actions import ASK_PERSON, MORE, OPTION
from bot.platforms.slack.payloads.events import response_url_of

_OPTION_ACTION = re.compile(rf"^{OPTION}:\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestButtons:
    """Turns presses of "Ask a person" and of options into messages of the user, one per question.

    Implements `Listener`.
    """

    button_questions: ButtonQuestions
    targets: ActionTargets
    presses: PressDispatcher

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, ASK_PERSON, self._ask_person)
        self.presses.on(bolt, _OPTION_ACTION, self._choose)

    async def _ask_person(self, press: Press) -> None:
        question = await self._pressed_below(press, press.value)
        reply_to = reply_reference(question.message, press)
        await self.button_questions.ask_person(question, press.presser.person, reply_to=reply_to)

    async def _choose(self, press: Press) -> None:
        value, _, number = press.value.rpartition(":")
        question = await self._pressed_below(press, value)
        reply_to = reply_reference(question.message, press)
        await self.button_questions.choose(
            question, number, press.presser.person, reply_to=reply_to
        )

    async def _pressed_below(self, press: Press, value: str) -> Interaction:
        return await self.targets.acted_on(interaction_named(value), press.presser)


def reply_reference(question: Message, press: Press) -> str:
    """Return a press's ``reply_to``: its response URL if the question came by command, else ""."""
    return json.dumps({"response_url": press.response_url}) if response_url_of(question) else ""


_ASKER_ONLY = "That is for the one who asked. Ask me yourself, and you get what you may read."


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateAnswerButton:
    """Shows askers their private answer, anew at each press. Implements `Listener`."""

    targets: ActionTargets
    presses: PressDispatcher
    readers: ReaderLookup
    private_answers: PrivateAnswers
    whisper: Callable[[Message, Reply], Coroutine[Any, Any, None]]
    background: BackgroundTasks

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, MORE, self._show)

    async def _show(self, press: Press) -> None:
        named = interaction_named(press.value)
        interaction = await self.targets.seen(named, press.presser)
        if interaction.message.author.id != press.user:
            raise ActionRejected(_ASKER_ONLY)
        reader = await self.readers.of_asker(interaction.message)
        found = await self.private_answers.of(interaction, reader)
        if found.reply is None:
            raise ActionRejected(found.why_not)
        whispering = self.whisper(interaction.message, found.reply)
        self.background.run(whispering, what="fuller answer")
