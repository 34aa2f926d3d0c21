"""Receive Slack's requests over HTTP, and dispatch those of either transport through Bolt.

The response is 200 if the request was accepted, 403 if it is for another workspace, and 503 if it
was not stored, so that Slack retries. Slack waits 3 s: work that takes longer goes on, and a
retry of the same event joins it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, Protocol, cast

import structlog
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.listener_matcher.async_builtins import AsyncBuiltinListenerMatcher
from slack_bolt.listener_matcher.async_listener_matcher import AsyncListenerMatcher
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.adapters import read_request_body
from bot.domain.errors import BotError, RateExceeded
from bot.domain.settings import Settings
from bot.platforms.slack.bot_identity import BotIdentity, verdict_on, workspaces_of
from bot.platforms.slack.payloads.events import Event, text_at

Mode = Literal["http", "socket_mode"]

_OBJECTS = (
    "channel container enterprise event item message response_metadata state team user view"
).split()
_LISTS_OF_OBJECTS = ("actions", "authorizations", "response_urls")


ODD_SHAPE = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
"""Errors raised by reading a body that has another shape than Slack documents."""


class Malformed(ValueError):
    """The body is no request that Slack would send."""


def bolt_request(
    body: str | dict[str, object], headers: Mapping[str, str], *, mode: Mode
) -> AsyncBoltRequest:
    """Build a request for Bolt. Raises Malformed."""
    try:
        request = AsyncBoltRequest(body=body, headers=dict(headers), mode=mode)
        sound = _is_sound(request.body)
    except ODD_SHAPE as error:
        # The constructor reads ids out of the body, and trusts its shape.
        raise Malformed("The body is nothing that Slack sends.") from error
    if not sound:
        raise Malformed("The body is no request.")
    return request


def _is_sound(body: object) -> bool:
    """Return whether the fields that Bolt and the listeners read are of the expected types."""
    if not isinstance(body, Mapping) or not isinstance(body.get("type", ""), str):
        return False
    event = body.get("event", {})
    return (
        isinstance(event, Mapping)
        and isinstance(event.get("type", ""), str)
        and all(isinstance(body.get(key), Mapping | str | None) for key in _OBJECTS)
        and all(_are_objects(body.get(key)) for key in _LISTS_OF_OBJECTS)
        and body.get("actions") != []
    )


def _are_objects(values: object) -> bool:
    if values is None:
        return True
    return isinstance(values, list) and all(isinstance(value, Mapping) for value in values)


ACCEPT_SECONDS = 2.5
"""Slack waits 3 s for an acknowledgement; after this time its retry is the better way."""

Authorize = Callable[..., Awaitable[AuthorizeResult]]

log = structlog.get_logger(__name__)


class Listener(Protocol):
    """Handles some of Slack's events, actions, view submissions or commands."""

    def register(self, bolt: AsyncApp) -> None:
        """Register the handlers with Bolt.

        A handler acknowledges and returns within 2.5 s. Longer work that may be lost goes to
        bot.domain.concurrency.BackgroundTasks, work that must not be lost into the inbox.
        """
        ...


def bolt_app(settings: Settings, listeners: Sequence[Listener]) -> AsyncApp:
    """Build the Bolt app with these listeners; an event that none handles is acknowledged."""
    # Bolt responds after the listeners, so that a failing inbox causes a retry; its logger would
    # otherwise write whole events and warn of the token that is also in the environment.
    logger = logging.getLogger("frontdesk.slack.bolt")
    logger.setLevel(logging.CRITICAL)
    secret = settings.slack_signing_secret
    bolt = AsyncApp(
        name="frontdesk",
        logger=logger,
        client=AsyncWebClient(base_url=settings.slack_api_url),
        signing_secret=secret.get_secret_value() if secret else "",
        authorize=_authorize_configured_token(settings),
        process_before_response=True,
        request_verification_enabled=settings.slack_transport == "http",
    )
    for listener in listeners:
        listener.register(bolt)
    bolt.event(re.compile(".*"))(_acknowledge)
    bolt.error(_on_error)
    _match_directly(bolt)
    return bolt


class _BodyMatcher(AsyncListenerMatcher):
    """Asks whether a listener is for a request, by the request's body alone."""

    def __init__(self, matches: Callable[..., Awaitable[bool]]) -> None:
        self._matches = matches

    async def async_matches(self, req: AsyncBoltRequest, resp: BoltResponse) -> bool:  # noqa: ARG002 - Bolt's signature
        return await self._matches(body=req.body)


def _match_directly(bolt: AsyncApp) -> None:
    """Give Bolt's own matchers the body alone, the one argument that they take.

    Bolt builds every argument that a function could have, for each listener that it asks.
    """
    for listener in bolt._async_listeners:  # noqa: SLF001 - it has no other name
        matchers = listener.matchers
        for position, matcher in enumerate(matchers):
            if isinstance(matcher, AsyncBuiltinListenerMatcher) and matcher.arg_names == ["body"]:
                asked = cast("Callable[..., Awaitable[bool]]", matcher.func)
                cast("list[AsyncListenerMatcher]", matchers)[position] = _BodyMatcher(asked)


def _authorize_configured_token(settings: Settings) -> Authorize:
    """Return a function that authorizes every request with the configured token.

    Bolt's own asks Slack, and drops the event if Slack is down.
    """
    token = settings.slack_bot_token

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_token=token.get_secret_value() if token else None,
        )

    return authorize


async def _acknowledge() -> None:
    """Acknowledge every other event, so that Slack does not send it again."""


REFUSED = 403
NOT_YET = 503
_LATER = {"Retry-After": "30"}


async def _on_error(error: Exception) -> BoltResponse:
    if isinstance(error, RateExceeded):
        # Acknowledged: it was logged and counted, and Slack would only send it again.
        return BoltResponse(status=200, body="")
    if isinstance(error, ODD_SHAPE):
        # A retry would have the same shape.
        log.error("slack.not_understood", error=type(error).__name__, exc_info=error)
        return BoltResponse(status=200, body="")
    known = isinstance(error, BotError | TimeoutError)
    log.error("slack.not_kept", error=type(error).__name__, exc_info=None if known else error)
    return BoltResponse(status=NOT_YET, body="", headers=dict(_LATER))


_MOST_AT_ONCE = 16
"""Concurrent requests. Each takes some milliseconds of the event loop, and a burst must leave room
for others. One that waits too long here is stored all the same, and acknowledged when retried."""

_UNKNOWN_COMMAND = "I don't know this command. Mention me in a channel, or write to me directly."

_NOT_HANDLED = 404


class Dispatcher:
    """Checks each request's workspace, and dispatches it to its listener through Bolt."""

    def __init__(self, bolt: AsyncApp, identity: BotIdentity) -> None:
        self._bolt = bolt
        self._identity = identity
        self._limit = asyncio.Semaphore(_MOST_AT_ONCE)

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Respond to a request: 200 if accepted, 403 for another workspace, 503 if not stored."""
        body: Event = request.body
        refused = None if _is_url_check(body) else self._refusal(body)
        if refused is not None:
            return refused
        if body.get("type") == "app_rate_limited":
            return _note_rate_limit(body)
        async with self._limit:
            return await self._dispatch(request)

    def _refusal(self, body: Event) -> BoltResponse | None:
        match verdict_on(body, self._identity.workspace):
            case "ours":
                return None
            case "unknown":
                log.warning("slack.not_ready", why="Slack has not said yet whose token this is.")
                return BoltResponse(status=NOT_YET, body="")
            case "strange":
                cure = "Set SLACK_TEAM_ID to it, if it is the one to serve."
                log.warning("slack.workspace_refused", team=sorted(workspaces_of(body)), cure=cure)
                return BoltResponse(status=REFUSED, body="", headers={"X-Slack-No-Retry": "1"})

    async def _dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        try:
            response = await self._bolt.async_dispatch(request)
        except ODD_SHAPE as error:
            log.warning("slack.not_understood", type=_request_type(request.body), exc_info=error)
            return BoltResponse(status=200, body="")
        except Exception as error:
            log.exception("slack.not_taken", error=type(error).__name__)
            return BoltResponse(status=NOT_YET, body="")
        if response.status != _NOT_HANDLED:
            return response
        log.info("slack.nobody_takes", type=_request_type(request.body))
        known = "command" not in request.body
        return BoltResponse(status=200, body="" if known else _UNKNOWN_COMMAND)


def _is_url_check(body: Event) -> bool:
    """Return whether Slack only verifies the URL; such a request names no workspace."""
    return body.get("type") == "url_verification" or body.get("ssl_check") == "1"


def _note_rate_limit(body: Event) -> BoltResponse:
    cure = (
        "Over 30,000 events came within an hour, and Slack holds the others back. Take the bot "
        "out of busy channels where nobody asks it."
    )
    log.error("slack.events_limited", minute=body.get("minute_rate_limited"), cure=cure)
    return BoltResponse(status=200, body="")


def _request_type(body: Event) -> str:
    return text_at(body, "type") or text_at(body, "command")


_EVENT_TYPE = "application/json"
_TYPES = frozenset({_EVENT_TYPE, "application/x-www-form-urlencoded"})
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


async def read_signed(request: web.Request, verifier: SignatureVerifier) -> bytes:
    """Return the body of a request that Slack signed within the last five minutes.

    Raises HTTPRequestEntityTooLarge, HTTPBadRequest (content type), HTTPUnauthorized.
    """
    if request.content_type not in _TYPES:
        raise web.HTTPBadRequest(text="Slack sends JSON or a form.")
    body = await read_request_body(request)
    timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
    signature = request.headers.get("X-Slack-Signature", "")
    # slack_sdk raises on a timestamp that is no number and on a non-ASCII signature.
    if not (_TIMESTAMP.fullmatch(timestamp) and _SIGNATURE.fullmatch(signature)):
        raise web.HTTPUnauthorized(text="The request is not signed.")
    with suppress(UnicodeDecodeError):
        if verifier.is_valid(body, timestamp, signature):
            return body
    raise web.HTTPUnauthorized(text="The signature is wrong or too old.")


class Endpoint:
    """The one HTTP endpoint for events, buttons and modals, and commands.

    Args:
        most: How many signed requests may be here; another event is refused, and Slack sends it
            again. What people press is never refused, and what is not signed counts for nothing:
            open connections would keep Slack's events out.
    """

    def __init__(self, dispatcher: Dispatcher, secret: str, *, most: int) -> None:
        self._dispatcher = dispatcher
        self._verifier = SignatureVerifier(secret)
        self._most = most
        self._present = 0

    async def handle(self, request: web.Request) -> web.Response:
        """Respond to a request; it is not acknowledged if the inbox did not store it."""
        raw = await read_signed(request, self._verifier)
        if self._present >= self._most and request.content_type == _EVENT_TYPE:
            return web.Response(status=NOT_YET, headers=_LATER)
        self._present += 1
        try:
            return await self._handle(request, raw)
        finally:
            self._present -= 1

    async def _handle(self, request: web.Request, raw: bytes) -> web.Response:
        try:
            received = bolt_request(raw.decode(), request.headers, mode="http")
        except (UnicodeDecodeError, Malformed) as error:
            raise web.HTTPBadRequest(text="The body is nothing that Slack sends.") from error
        return await to_aiohttp_response(await self._dispatcher.dispatch(received))
