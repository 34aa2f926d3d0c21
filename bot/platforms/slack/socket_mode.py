"""Receive Slack's events over Socket Mode: no public address, no signatures.

slack_sdk's client runs one connection. A connection that breaks or falls silent is discarded
with its client and a new one is opened: left to itself, that client retries the address of the
broken connection for ever.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog
from aiohttp import ClientError, WSMessage, web
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.domain.errors import DeliveryFailed
from bot.platforms.slack.bot_identity import SOCKET, SlackHealth
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import NotPermitted
from bot.platforms.slack.dispatch import REFUSED, Dispatcher, Malformed, bolt_request

_OK = 200

log = structlog.get_logger(__name__)


class EnvelopeReceiver:
    """Dispatches the envelopes of any connection, and acknowledges each that need not be retried.

    These are envelopes that were stored, and those for another workspace. Slack sends all others
    again.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._closed = False
        self._in_progress: set[asyncio.Event] = set()

    async def receive(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Dispatch one envelope, and acknowledge it."""
        if self._closed:
            return
        ended = asyncio.Event()
        self._in_progress.add(ended)
        try:
            await self._respond(client, request)
        finally:
            self._in_progress.discard(ended)
            ended.set()

    async def finish(self, seconds: float) -> None:
        """Accept no more envelopes, and wait for those under way, ``seconds`` at most."""
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for ended in tuple(self._in_progress):
                    await ended.wait()

    async def _respond(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        began = time.time()
        response = await self._response(request)
        if response.status != _OK:
            return
        try:
            await send_async_response(client, request, response, began)
        except (ClientError, OSError) as error:
            log.info("slack.not_acknowledged", error=type(error).__name__)

    async def _response(self, request: SocketModeRequest) -> BoltResponse:
        retried = str(request.retry_attempt or 0)
        try:
            received = bolt_request(
                request.payload, {"x-slack-retry-num": retried}, mode="socket_mode"
            )
        except Malformed:
            log.warning("slack.malformed", type=request.type)
            return BoltResponse(status=_OK, body="")
        response = await self._dispatcher.dispatch(received)
        # Acknowledged, since a retry would be for another workspace as well.
        return BoltResponse(status=_OK, body="") if response.status == REFUSED else response


class SocketConnection:
    """A connection of slack_sdk's client, with its automatic reconnect switched off."""

    def __init__(
        self, token: str, client: SlackClient, receiver: EnvelopeReceiver, ping_seconds: float
    ) -> None:
        logger = logging.getLogger("frontdesk.slack.socket")
        # Muted: the client logs whole messages.
        logger.setLevel(logging.CRITICAL + 1)
        self._client = SocketModeClient(
            app_token=token,
            logger=logger,
            web_client=client.web,
            auto_reconnect_enabled=False,
            ping_interval=ping_seconds,
            on_message_listeners=[self._on_message],
        )
        self._client.socket_mode_request_listeners.append(receiver.receive)
        self._hello = asyncio.Event()

    async def open(self, address: str) -> None:
        """Connect, and wait for Slack's hello, which is its first message."""
        self._client.wss_uri = address
        await self._client.connect()  # type: ignore[no-untyped-call]  # slack_sdk gives none
        await self._hello.wait()

    async def is_alive(self) -> bool:
        """Return whether the connection is open, and one of the last four pings was answered."""
        return await self._client.is_connected()

    async def close(self) -> None:
        """Close the connection; envelopes under way can't be acknowledged any more."""
        with suppress(ClientError, OSError):
            await self._client.close()  # type: ignore[no-untyped-call]  # as above

    async def _on_message(self, _: WSMessage) -> None:
        self._hello.set()


_CURE = (
    "Check the network, and SLACK_APP_TOKEN (Basic Information > App-Level Tokens, scope "
    "connections:write; Socket Mode switched on)."
)


@dataclass(frozen=True, slots=True)
class SocketTimeouts:
    """Timeouts and intervals of the socket, in seconds.

    ``start``: how long the server's start waits for a connection. ``connect``: to open one.
    ``look``: between checks of it. ``ping``: between pings. ``first_pause`` to ``longest_pause``:
    before the next connection. ``finish``: for envelopes under way at the end.
    """

    start: float = 2.0
    connect: float = 10.0
    look: float = 1.0
    ping: float = 5.0
    first_pause: float = 1.0
    longest_pause: float = 30.0
    finish: float = 3.0


class SocketMode:
    """Keeps one connection open while an application runs, and reports when it can't.

    The connection is opened after everything else has started, so that events can be stored, and
    closed before anything else stops.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        token: str,
        client: SlackClient,
        health: SlackHealth,
        timeouts: SocketTimeouts,
    ) -> None:
        self._receiver = EnvelopeReceiver(dispatcher)
        self._token = token
        self._client = client
        self._health = health
        self._timeouts = timeouts
        self._task: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()

    def run_with(self, app: web.Application) -> None:
        """Open the connection when an application starts, and close it at its shutdown."""
        app.on_startup.append(self._start)
        app.on_shutdown.append(self._stop)

    async def _start(self, _: web.Application) -> None:
        self._task = asyncio.create_task(self._keep_connected())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeouts.start):
                await self._tried.wait()
                return
        self._lost("it is being opened")

    async def _stop(self, _: web.Application) -> None:
        await self._receiver.finish(self._timeouts.finish)
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _keep_connected(self) -> None:
        """Open one connection after another, with growing pauses while opening fails.

        A connection that breaks is not reported: Slack ends each after some hours. One that can't
        be opened is.
        """
        pause = self._timeouts.first_pause
        while True:
            was_open, why = await self._hold()
            if was_open:
                pause = self._timeouts.first_pause
                log.info("slack.socket_ended", why=why)
            else:
                self._lost(why)
                self._tried.set()
            await asyncio.sleep(pause)
            pause = min(2 * pause, self._timeouts.longest_pause)

    async def _hold(self) -> tuple[bool, str]:
        """Hold a connection while it is sound; return whether it was opened, and why it ended."""
        opened = False
        try:
            async with self._connection() as connection:
                opened = True
                self._health.clear(SOCKET)
                self._tried.set()
                log.info("slack.socket_connected")
                while await connection.is_alive():  # noqa: ASYNC110 - the client has no such event
                    await asyncio.sleep(self._timeouts.look)
        except NotPermitted as error:
            return opened, f"Slack refuses SLACK_APP_TOKEN ({error.code})"
        except DeliveryFailed as error:
            return opened, str(error).rstrip(".")
        except TimeoutError:
            return opened, "Slack did not say hello"
        except Exception as error:
            log.exception("slack.socket_failed", error=type(error).__name__)
            return opened, "of an error of ours"
        return opened, "the connection broke"

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[SocketConnection]:
        """Open a connection. Raises DeliveryFailed, TimeoutError."""
        address = await self._client.apps_connections_open(self._token)
        connection = SocketConnection(
            self._token, self._client, self._receiver, self._timeouts.ping
        )
        try:
            async with asyncio.timeout(self._timeouts.connect):
                await connection.open(address)
            yield connection
        finally:
            await connection.close()

    def _lost(self, why: str) -> None:
        log.warning("slack.socket_lost", why=why, cure=_CURE)
        self._health.note(SOCKET, f"Socket Mode is not connected: {why}.", cure=_CURE)
