"""Serve Teams' activities over HTTP, and dispatch each to the listener that takes it.

What no listener takes is acknowledged. While the database is unavailable for some seconds an
activity is held and retried: Teams does not guarantee to redeliver after a 503.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog
from aiohttp import web
from botbuilder.core import TurnContext
from botbuilder.schema import Activity

from bot.chat.actions import LATER, REJECTIONS, UNKNOWN, rejection_text
from bot.chat.adapters import read_request_body
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import (
    BotError,
    InboxUnavailable,
    RateExceeded,
    RecordRefused,
    StoreUnavailable,
)
from bot.domain.texts import ENGLISH, Language
from bot.domain.urls import is_loopback_host
from bot.platforms.teams.auth import InboundAuth, SigningKeys
from bot.platforms.teams.client.errors import KeysUnavailable
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


_ACCEPT_SECONDS = 10.0
"""Teams waits 15 s for a response."""

_PLAIN_FIELDS = ("type", "id", "channelId", "serviceUrl")
_PARTY_FIELDS = ("from", "recipient", "conversation")
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Handles requests from Teams through botbuilder; responses are in ``language``."""

    inbound: InboundAuth
    background: BackgroundTasks
    dispatch: Dispatch
    language: Language = ENGLISH

    async def handle(self, request: web.Request) -> web.Response:
        """Handle one request; botbuilder's own handler fails for every response with a body."""
        if self.inbound.keys is None:
            _check_host(request)
        authenticator, header = self.inbound.authenticator, _authorization(request)
        await authenticator.check(header)
        body = await _read_body(request)
        activity = _activity(body)
        admitted = await authenticator.admit(header, body, activity)
        answers: list[Json] = []

        async def turn(_: TurnContext) -> None:
            answers.append(await take_when_store_is_back(self.dispatch.take, body))

        try:
            async with asyncio.timeout(_ACCEPT_SECONDS):
                await self.inbound.adapter.process_activity(admitted, activity, turn)
        except RateExceeded:
            # Acknowledged: it was logged and counted, and Teams would only redeliver it.
            return web.Response()
        except (BotError, TimeoutError) as error:
            log.warning("teams.not_kept", error=type(error).__name__)
            return web.Response(status=503)
        except Exception:
            log.exception("teams.not_kept")
            return web.Response(status=503)
        if body.get("type") != "invoke":
            return web.Response()
        return web.json_response(self.language.render_all(answers[0]) if answers else {})

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Fetch the signing keys in the background while the server already runs."""
        keys = self.inbound.keys
        fetching = asyncio.create_task(_prefetch(keys)) if keys else None
        yield
        await self.background.finish()
        if fetching:
            fetching.cancel()
            with suppress(asyncio.CancelledError):
                await fetching


async def _prefetch(keys: SigningKeys) -> None:
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            await keys.prefetch()
        except KeysUnavailable as error:
            log.warning("teams.keys_unavailable", error=str(error))
        else:
            return
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _check_host(request: web.Request) -> None:
    """Reject host names other than this machine's: in development no signature protects it."""
    transport, hosts = request.transport, request.headers.getall("Host", [])
    own = transport.get_extra_info("sockname") if transport is not None else None
    if own is None or len(hosts) != 1 or not is_loopback_host(hosts[0], own[1]):
        raise web.HTTPForbidden(text=f"The host {', '.join(hosts)!r} is not this server's.")


def _authorization(request: web.Request) -> str:
    """Return the Authorization header; "" if there are two, one of them for a proxy."""
    said = request.headers.getall("Authorization", [])
    return said[0] if len(said) == 1 else ""


async def _read_body(request: web.Request) -> Body:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="Teams sends JSON.")
    raw = await read_request_body(request)
    try:
        body = json.loads(raw)
        if b"\\ud" in raw.lower():
            body = _without_half_surrogates(body)
    except (ValueError, RecursionError) as error:
        raise web.HTTPBadRequest(text="The body is not JSON.") from error
    if not isinstance(body, dict) or not text_at(body, "type"):
        raise web.HTTPBadRequest(text="The body is no activity.")
    return body


def _without_half_surrogates(body: object) -> object:
    """Replace lone surrogates, which are no characters and can't be encoded later."""
    raw = json.dumps(body, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    return json.loads(raw.decode("utf-16-le", "replace"))


def _activity(body: Body) -> Activity:
    """Return the activity with only the fields that botbuilder needs.

    Deserializing all of it would fail on unused fields with a wrong type.
    """
    read = {key: body[key] for key in _PLAIN_FIELDS if key in body}
    parties = {key: _party(body[key]) for key in _PARTY_FIELDS if key in body}
    try:
        return Activity().deserialize({**read, **parties})
    except Exception as error:  # msrest raises many kinds for a field of a wrong type
        raise web.HTTPBadRequest(text="The body is no activity.") from error


def _party(value: object) -> object:
    return {"id": text_at(value, "id")} if isinstance(value, Mapping) else value
