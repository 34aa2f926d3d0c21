"""Dispatch activities and invokes to the listener that takes each; acknowledge the rest.

While the database is unavailable for some seconds an activity is held and retried: Teams does not
guarantee to redeliver after a 503.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

import structlog

from bot.chat.actions import LATER, REJECTIONS, UNKNOWN, rejection_text
from bot.domain.errors import BotError, InboxUnavailable, RecordRefused, StoreUnavailable
from bot.platforms.teams.payloads.actions import EMPTY_ANSWER, Press, parse_press
from bot.platforms.teams.payloads.activity import Body, Json, text_at
from bot.platforms.teams.rendering.cards import dialog_text, text_answer

INVOKE_SECONDS = 4.0
"""Time limit for an invoke: a person waits, and Teams shows an error after some seconds."""

_LONGEST_LOGGED_NAME = 80

ActivityHandler = Callable[[Body], Awaitable[bool]]
"""Returns whether it took the activity; then no other handler is called."""

ActivityObserver = Callable[[Body], Awaitable[None]]
InvokeHandler = Callable[[Body], Awaitable[Json]]
ActionHandler = Callable[[Press], Awaitable[Json]]
"""Returns a response of bot.platforms.teams.payloads.actions. Raises BotError."""

log = structlog.get_logger(__name__)


class Dispatch:
    """Routes activities and invokes to the registered handlers."""

    def __init__(self) -> None:
        self._observers: list[ActivityObserver] = []
        self._handlers: defaultdict[str, list[ActivityHandler]] = defaultdict(list)
        self._presses: dict[str, ActionHandler] = {}
        self._dialogs: dict[str, ActionHandler] = {}
        self._forms: dict[str, ActionHandler] = {}
        self._invokes: dict[str, InvokeHandler] = {
            "adaptiveCard/action": partial(_answer_action, self._presses, text_answer),
            "task/fetch": partial(_answer_action, self._dialogs, dialog_text),
            "task/submit": partial(_answer_action, self._forms, dialog_text),
        }

    def on_every(self, observer: ActivityObserver) -> None:
        """Register an observer of all activities, called before any handler."""
        self._observers.append(observer)

    def on_activity(self, kind: str, take: ActivityHandler) -> None:
        """Register a handler for a type of activity; the first registered is called first."""
        self._handlers[kind].append(take)

    def on_invoke(self, name: str, answer: InvokeHandler) -> None:
        """Register a handler for an invoke, with a time limit; on failure the response is empty."""
        self._invokes[name] = partial(_answer_in_time, answer)

    def on_press(self, name: str, act: ActionHandler) -> None:
        """Register a handler for presses of a button with that name (Action.Execute)."""
        self._presses[name] = act

    def on_dialog(
        self, name: str, opens: ActionHandler, sends: ActionHandler | None = None
    ) -> None:
        """Register handlers that open a dialog from a button, and process its submitted form."""
        self._dialogs[name] = opens
        if sends is not None:
            self._forms[name] = sends

    async def take(self, body: Body) -> Json:
        """Dispatch an activity; return the response to an invoke. Raises BotError."""
        for observe in self._observers:
            await observe(body)
        kind = text_at(body, "type")
        if kind == "invoke":
            answer = self._invokes.get(text_at(body, "name"))
            return await answer(body) if answer else EMPTY_ANSWER
        for take in self._handlers.get(kind, ()):
            if await take(body):
                break
        return EMPTY_ANSWER


class Listener(Protocol):
    """Handles some of what Teams sends: activities, presses, dialogs."""

    def register(self, dispatch: Dispatch) -> None:
        """Register the handlers.

        A handler stores or finishes its work before it returns; work that may take longer and may
        be lost goes to BackgroundTasks (bot.domain.concurrency).
        """
        ...


async def _answer_action(
    handlers: dict[str, ActionHandler], text_response: Callable[[str], Json], body: Body
) -> Json:
    """Respond to a press; if its handler fails, with a text for the presser."""
    press = parse_press(body)
    act = handlers.get(press.name) if press else None
    if press is None or act is None:
        log.info(
            "teams.press_not_understood", name=press.name[:_LONGEST_LOGGED_NAME] if press else ""
        )
        return text_response(UNKNOWN)
    try:
        async with asyncio.timeout(INVOKE_SECONDS):
            return await act(press)
    except REJECTIONS as error:
        return text_response(rejection_text(error))
    except (BotError, TimeoutError) as error:
        log.warning("teams.press_not_taken", error=type(error).__name__, why=str(error))
        return text_response(LATER)
    except Exception:
        log.exception("teams.press_not_taken")
        return text_response(LATER)


async def _answer_in_time(answer: InvokeHandler, body: Body) -> Json:
    """Respond to an invoke, with {} if its handler fails: Teams shows an error for any non-200."""
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
    """Dispatch an activity, with retries while the store is down; the caller sets the timeout.

    An invoke is not retried: the presser sees an error text at once. Raises BotError.
    """
    while True:
        try:
            return await take(body)
        except (StoreUnavailable, InboxUnavailable) as error:
            if text_at(body, "type") == "invoke" or not _is_store_down(error):
                raise
        await asyncio.sleep(_RETRY_SECONDS)


def _is_store_down(error: BotError) -> bool:
    """Return whether the store is down; not if it rejects a value or this server takes none."""
    cause = error.__cause__ if isinstance(error, InboxUnavailable) else error
    return isinstance(cause, StoreUnavailable) and not isinstance(cause, RecordRefused)
