"""Buttons that ask something in the name of whoever presses them: for a person, for an option."""

from __future__ import annotations

import json

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.wire.actions import OPTION, PERSON
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.invokes import words_answer
from bot.adapters.teams.wire.reference import read_reference, reference_of
from bot.chat.actions import ActionTargets, ButtonQuestions
from bot.domain.types import Message

_PASSED_ON = "I've noted that you'd like a person to be asked. What comes of it is said below."
_LOOKING = "I'm looking into what you chose. What I find is said below."


class Wishes:
    """Implements Registers: a press is a message of its presser, once for each question."""

    def __init__(self, *, wishing: ButtonQuestions, subjects: ActionTargets) -> None:
        self._wishing = wishing
        self._subjects = subjects

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_press(PERSON, self._ask_person)
        dispatch.on_press(OPTION, self._choose)

    async def _ask_person(self, press: Press) -> Json:
        asked = await self._subjects.acted_on(press.about, press.presser)
        reply_to = answered_at(asked.message, press)
        await self._wishing.ask_person(asked, press.person, reply_to=reply_to)
        return words_answer(_PASSED_ON)

    async def _choose(self, press: Press) -> Json:
        asked = await self._subjects.acted_on(press.about, press.presser)
        reply_to, number = answered_at(asked.message, press), str(press.data.get("option"))
        await self._wishing.choose(asked, number, press.person, reply_to=reply_to)
        return words_answer(_LOOKING)


def answered_at(asked: Message, press: Press) -> str:
    """Return where a press is answered: below the question, to whoever pressed.

    A press itself is no message that could be replied to.
    """
    question, pressed = read_reference(asked.reply_to), read_reference(reference_of(press.body))
    there = {key: question[key] for key in ("activityId", "conversation") if key in question}
    beside = {key: value for key, value in pressed.items() if key != "activityId"}
    return json.dumps({**beside, **there})
