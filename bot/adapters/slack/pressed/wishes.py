"""Buttons that ask something in the name of whoever presses them: for a person, for an option."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.pressed.pressing import Declined, Press, Presses, interaction_named
from bot.adapters.slack.pressed.subjects import Subjects
from bot.adapters.slack.wire.actions import ASK_PERSON, OPTION
from bot.escalations.handover import wish_about
from bot.escalations.repeating import LOOKED_AT, asked_already
from bot.office import Office
from bot.types import Clarification, Interaction, Message, Person

_OPTIONS = re.compile(rf"^{OPTION}:\d+$")
_ASKED_ALREADY = "A person was asked for about this already; see below in the thread."
_CHOSEN_ALREADY = "One of these was chosen already; see below in the thread."
_NO_OPTION = "That choice isn't there any more. Please ask again."
_TURNS = 6


class Wishes:
    """Implements Registers: a press is a message of its presser, once for each question."""

    def __init__(self, *, office: Office, subjects: Subjects, presses: Presses) -> None:
        self._office = office
        self._subjects = subjects
        self._presses = presses

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, ASK_PERSON, self._ask_person)
        self._presses.on(bolt, _OPTIONS, self._choose)

    async def _ask_person(self, press: Press) -> None:
        interaction = await self._pressed_below(press, press.value)
        wish = pressed(interaction.message, press, "person", text="")
        wish = replace(wish, text=await self._about(interaction, wish))
        there = await self._office.interactions.in_thread(wish.thread, LOOKED_AT)
        if asked_already(wish, there):
            raise Declined(_ASKED_ALREADY)
        await self._accept(wish, _ASKED_ALREADY)

    async def _choose(self, press: Press) -> None:
        value, _, number = press.value.rpartition(":")
        interaction = await self._pressed_below(press, value)
        text = _option(interaction, number)
        message = pressed(interaction.message, press, "option", text=text)
        await self._accept(message, _CHOSEN_ALREADY)

    async def _pressed_below(self, press: Press, value: str) -> Interaction:
        named = interaction_named(value)
        return await self._subjects.acted_on(named, press.user, press.channel)

    async def _about(self, interaction: Interaction, wish: Message) -> str:
        """Return the wish; the question is named unless it is the one that was asked last."""
        turns = await self._office.interactions.history(wish.thread, wish, _TURNS)
        asked = [turn.text for turn in turns if turn.role == "user"]
        question = interaction.message.text
        return wish_about("" if asked and asked[-1] == question else question)

    async def _accept(self, message: Message, already: str) -> None:
        """Put a message into the inbox; raises Declined where it is there, by whomever."""
        if await self._office.interactions.get(message.interaction_id) is not None:
            raise Declined(already)
        await self._office.inbox.accept(message)


def pressed(asked: Message, press: Press, what: str, *, text: str) -> Message:
    """Return what a press below a question says, in its thread; the same for whoever presses.

    Where the question came by a command, the reply goes where the press can be answered.
    """
    reply_to = json.dumps({"response_url": press.response_url}) if asked.reply_to else ""
    return Message(
        id=f"{asked.id}:{what}",
        thread=asked.thread,
        author=Person(id=press.user),
        text=text,
        received_at=datetime.now(UTC),
        private=asked.private,
        reply_to=reply_to,
    )


def _option(interaction: Interaction, number: str) -> str:
    """Return the option of that number. Raises Declined where there is none."""
    outcome = interaction.outcome
    if outcome is None or not isinstance(outcome.response, Clarification):
        raise Declined(_NO_OPTION)
    options = outcome.response.options
    if not (number.isascii() and number.isdecimal() and int(number) < len(options)):
        raise Declined(_NO_OPTION)
    return options[int(number)]
