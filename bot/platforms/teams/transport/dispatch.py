"""Dispatch activities and invokes to the listener that takes each; acknowledge the rest.

While the database is unavailable for some seconds an activity is held and tried again: nobody
promises that Teams sends again what it was answered 503 for.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

import structlog

from bot.chat.actions import LATER, UNKNOWN, ActionRejected
from bot.domain.errors import BotError, InboxUnavailable, RecordRefused, StoreUnavailable
from bot.platforms.teams.payloads.actions import (
    EMPTY_ANSWER,
    Press,
    dialog_text,
    parse_press,
    text_answer,
)
from bot.platforms.teams.payloads.activity import Body, Json, text_at

INVOKE_SECONDS = 4.0
"""Somebody has pressed something and looks at it; Teams shows an error after some seconds."""

_LONGEST_LOGGED_NAME = 80

_CARD_INVOKE, _DIALOG_OPEN_INVOKE, _DIALOG_SUBMIT_INVOKE = (
    "adaptiveCard/action",
    "task/fetch",
    "task/submit",
)

ActivityHandler = Callable[[Body], Awaitable[bool]]
"""Tells whether the activity was its own: then nobody else is asked."""

ActivityObserver = Callable[[Body], Awaitable[None]]
InvokeHandler = Callable[[Body], Awaitable[Json]]
ActionHandler = Callable[[Press], Awaitable[Json]]
"""Returns an answer of bot.platforms.teams.payloads.actions. Raises ActionRejected, BotError."""

log = structlog.get_logger(__name__)


class Dispatch:
    """Where everything that arrives is handed on."""

    def __init__(self) -> None:
        self._notes: list[ActivityObserver] = []
        self._takers: defaultdict[str, list[ActivityHandler]] = defaultdict(list)
        self._invokes: dict[str, InvokeHandler] = {_CARD_INVOKE: self._pressed}
        self._invokes |= {_DIALOG_OPEN_INVOKE: self._opened, _DIALOG_SUBMIT_INVOKE: self._sent}
        self._presses: dict[str, ActionHandler] = {}
        self._dialogs: dict[str, ActionHandler] = {}
        self._forms: dict[str, ActionHandler] = {}

    def on_every(self, note: ActivityObserver) -> None:
        """Let everything that arrives be looked at, before anybody takes it."""
        self._notes.append(note)

    def on_activity(self, kind: str, take: ActivityHandler) -> None:
        """Let activities of a type be taken; who is named first is asked first."""
        self._takers[kind].append(take)

    def on_invoke(self, name: str, answer: InvokeHandler) -> None:
        """Let invokes of a name be answered, within seconds; with nothing where that fails."""
        self._invokes[name] = partial(_answer_in_time, answer)

    def on_press(self, name: str, act: ActionHandler) -> None:
        """Let presses be answered of a button of that name (Action.Execute)."""
        self._presses[name] = act

    def on_dialog(
        self, name: str, opens: ActionHandler, sends: ActionHandler | None = None
    ) -> None:
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
            return await answer(body) if answer else EMPTY_ANSWER
        for take in self._takers.get(kind, ()):
            if await take(body):
                break
        return EMPTY_ANSWER

    async def _pressed(self, body: Body) -> Json:
        return await _answer_action(body, self._presses, text_answer)

    async def _opened(self, body: Body) -> Json:
        return await _answer_action(body, self._dialogs, dialog_text)

    async def _sent(self, body: Body) -> Json:
        return await _answer_action(body, self._forms, dialog_text)


class Listener(Protocol):
    """Takes some of what Teams sends: activities, presses, dialogs."""

    def register(self, dispatch: Dispatch) -> None:
        """Say what is taken.

        What is taken is kept, or done, before it returns; what may take longer and may be lost is
        an errand (bot.domain.concurrency).
        """
        ...


async def _answer_action(
    body: Body, acts: dict[str, ActionHandler], words: Callable[[str], Json]
) -> Json:
    """Answer a press; who pressed is told why something was not done, in words for people."""
    press = parse_press(body)
    act = acts.get(press.name) if press else None
    if press is None or act is None:
        log.info(
            "teams.press_not_understood", name=press.name[:_LONGEST_LOGGED_NAME] if press else ""
        )
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


async def _answer_in_time(answer: InvokeHandler, body: Body) -> Json:
    """Answer an invoke; Teams shows whoever did something an error for anything but 200."""
    try:
        async with asyncio.timeout(INVOKE_SECONDS):
            return await answer(body)
    except (BotError, TimeoutError) as error:
        log.warning("teams.invoke_not_taken", error=type(error).__name__, why=str(error))
    except Exception:
        log.exception("teams.invoke_not_taken")
    return EMPTY_ANSWER


_RETRY_SECONDS = 0.5


async def take_when_store_is_back(take: Callable[[Body], Awaitable[Json]], body: Body) -> Json:
    """Hand an activity on, again while the record is away; who waits longer stops it.

    Whoever pressed is told at once instead. Raises BotError.
    """
    while True:
        try:
            return await take(body)
        except (StoreUnavailable, InboxUnavailable) as error:
            if text_at(body, "type") == "invoke" or not _is_store_down(error):
                raise
        await asyncio.sleep(_RETRY_SECONDS)


def _is_store_down(error: BotError) -> bool:
    """Tell whether it is the record that is away, not this server that takes nothing."""
    cause = error.__cause__ if isinstance(error, InboxUnavailable) else error
    return isinstance(cause, StoreUnavailable) and not isinstance(cause, RecordRefused)
