"""Who takes what of all that Teams sends; what nobody takes is acknowledged."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

import structlog

from bot.adapters.teams.arriving.pressing import Press, press_of
from bot.adapters.teams.wire.body import Body, Json, text_at
from bot.adapters.teams.wire.invokes import NOTHING, dialog_words, words_answer
from bot.chat.actions import LATER, UNKNOWN, ActionRejected
from bot.domain.errors import BotError

INVOKE_SECONDS = 4.0
"""Somebody has pressed something and looks at it; Teams shows an error after some seconds."""

_LOGGED = 80

_CARD, _OPENED, _SENT = "adaptiveCard/action", "task/fetch", "task/submit"

Take = Callable[[Body], Awaitable[bool]]
"""Tells whether the activity was its own: then nobody else is asked."""

Note = Callable[[Body], Awaitable[None]]
Answer = Callable[[Body], Awaitable[Json]]
Act = Callable[[Press], Awaitable[Json]]
"""Returns an answer of bot.adapters.teams.wire.invokes. Raises Declined, BotError."""

log = structlog.get_logger(__name__)


class Dispatch:
    """Where everything that arrives is handed on."""

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self._takers: defaultdict[str, list[Take]] = defaultdict(list)
        self._invokes: dict[str, Answer] = {_CARD: self._pressed}
        self._invokes |= {_OPENED: self._opened, _SENT: self._sent}
        self._presses: dict[str, Act] = {}
        self._dialogs: dict[str, Act] = {}
        self._forms: dict[str, Act] = {}

    def on_every(self, note: Note) -> None:
        """Let everything that arrives be looked at, before anybody takes it."""
        self._notes.append(note)

    def on_activity(self, kind: str, take: Take) -> None:
        """Let activities of a type be taken; who is named first is asked first."""
        self._takers[kind].append(take)

    def on_invoke(self, name: str, answer: Answer) -> None:
        """Let invokes of a name be answered, within seconds; with nothing where that fails."""
        self._invokes[name] = partial(_in_time, answer)

    def on_press(self, name: str, act: Act) -> None:
        """Let presses be answered of a button of that name (Action.Execute)."""
        self._presses[name] = act

    def on_dialog(self, name: str, opens: Act, sends: Act | None = None) -> None:
        """Let a dialog be opened by a button, and what is filled in there be sent."""
        self._dialogs[name] = opens
        if sends is not None:
            self._forms[name] = sends

    async def take(self, body: Body) -> Json:
        """Hand an activity on; return what an invoke is answered with. Raises BotError."""
        for note in self._notes:
            await note(body)
        kind = text_at(body, "type")
        if kind == "invoke":
            answer = self._invokes.get(text_at(body, "name"))
            return await answer(body) if answer else NOTHING
        for take in self._takers.get(kind, ()):
            if await take(body):
                break
        return NOTHING

    async def _pressed(self, body: Body) -> Json:
        return await _answered(body, self._presses, words_answer)

    async def _opened(self, body: Body) -> Json:
        return await _answered(body, self._dialogs, dialog_words)

    async def _sent(self, body: Body) -> Json:
        return await _answered(body, self._forms, dialog_words)


class Registers(Protocol):
    """Takes some of what Teams sends: activities, presses, dialogs."""

    def register(self, dispatch: Dispatch) -> None:
        """Say what is taken.

        What is taken is kept, or done, before it returns; what may take longer and may be lost is
        an errand (bot.domain.concurrency).
        """
        ...


async def _answered(body: Body, acts: dict[str, Act], words: Callable[[str], Json]) -> Json:
    """Answer a press; who pressed is told why something was not done, in words for people."""
    press = press_of(body)
    act = acts.get(press.name) if press else None
    if press is None or act is None:
        log.info("teams.press_not_understood", name=press.name[:_LOGGED] if press else "")
        return words(UNKNOWN)
    try:
        async with asyncio.timeout(INVOKE_SECONDS):
            return await act(press)
    except ActionRejected as error:
        return words(str(error))
    except (BotError, TimeoutError) as error:
        log.warning("teams.press_not_taken", error=type(error).__name__, why=str(error))
        return words(LATER)
    except Exception:
        log.exception("teams.press_not_taken")
        return words(LATER)


async def _in_time(answer: Answer, body: Body) -> Json:
    """Answer an invoke; Teams shows whoever did something an error for anything but 200."""
    try:
        async with asyncio.timeout(INVOKE_SECONDS):
            return await answer(body)
    except (BotError, TimeoutError) as error:
        log.warning("teams.invoke_not_taken", error=type(error).__name__, why=str(error))
    except Exception:
        log.exception("teams.invoke_not_taken")
    return NOTHING
