"""The fuller answer, for its asker alone, as long as they may read what it was made from."""

from __future__ import annotations

from typing import Protocol

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.pressed.pressing import Press, Presses
from bot.adapters.slack.wire.actions import MORE
from bot.answering.asker_identity import ReaderLookup
from bot.answering.permitted_views import PrivateAnswers
from bot.chat.actions import ActionRejected, ActionTargets, interaction_named
from bot.domain.concurrency import BackgroundTasks
from bot.domain.types import Message, Reply

_ANOTHERS = "That is for the one who asked. Ask me yourself, and you get what you may read."


class Whispers(Protocol):
    """Shows a reply with its sources to a question's asker alone. Raises DeliveryFailed."""

    async def whisper(self, message: Message, reply: Reply) -> None: ...


class More:
    """Implements Registers: pressed again, it is shown again."""

    def __init__(
        self,
        *,
        subjects: ActionTargets,
        presses: Presses,
        readers: ReaderLookup,
        fuller: PrivateAnswers,
        whispers: Whispers,
        errands: BackgroundTasks,
    ) -> None:
        self._subjects = subjects
        self._presses = presses
        self._readers = readers
        self._fuller = fuller
        self._whispers = whispers
        self._errands = errands

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, MORE, self._show)

    async def _show(self, press: Press) -> None:
        named = interaction_named(press.value)
        interaction = await self._subjects.seen(named, press.presser)
        if interaction.message.author.id != press.user:
            raise ActionRejected(_ANOTHERS)
        reader = await self._readers.of_asker(interaction.message)
        found = await self._fuller.of(interaction, reader)
        if found.reply is None:
            raise ActionRejected(found.why_not)
        whispered = self._whispers.whisper(interaction.message, found.reply)
        self._errands.run(whispered, what="fuller answer")
