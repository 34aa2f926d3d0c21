"""Handle the buttons that ask for a person or choose an option, on behalf of the presser."""

from __future__ import annotations

import json

from bot.chat.actions import ActionTargets, ButtonQuestions
from bot.domain.messages import Message
from bot.platforms.teams.payloads.actions import ASK_PERSON, CHOOSE_OPTION, Press, text_answer
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.payloads.references import read_reference, reference_of
from bot.platforms.teams.transport.dispatch import Dispatch

_PERSON_REQUESTED = (
    "I've noted that you'd like a person to be asked. What comes of it is said below."
)
_OPTION_CHOSEN = "I'm looking into what you chose. What I find is said below."


class RequestButtons:
    """Turns a press into a message of its presser, once per question. Implements `Listener`."""

    def __init__(self, *, wishing: ButtonQuestions, subjects: ActionTargets) -> None:
        self._wishing = wishing
        self._subjects = subjects

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_press(ASK_PERSON, self._ask_person)
        dispatch.on_press(CHOOSE_OPTION, self._choose)

    async def _ask_person(self, press: Press) -> Json:
        asked = await self._subjects.acted_on(press.about, press.presser)
        reply_to = reply_reference(asked.message, press)
        await self._wishing.ask_person(asked, press.person, reply_to=reply_to)
        return text_answer(_PERSON_REQUESTED)

    async def _choose(self, press: Press) -> Json:
        asked = await self._subjects.acted_on(press.about, press.presser)
        reply_to, number = reply_reference(asked.message, press), str(press.data.get("option"))
        await self._wishing.choose(asked, number, press.person, reply_to=reply_to)
        return text_answer(_OPTION_CHOSEN)


def reply_reference(asked: Message, press: Press) -> str:
    """Return a reference that addresses the presser, below the question.

    A press itself is no message that could be replied to.
    """
    question, pressed = read_reference(asked.reply_to), read_reference(reference_of(press.body))
    there = {key: question[key] for key in ("activityId", "conversation") if key in question}
    beside = {key: value for key, value in pressed.items() if key != "activityId"}
    return json.dumps({**beside, **there})
