"""Receive Slack's events over a socket that we open: no public address, no signatures.

Slack's own client does the talking on one connection. A connection that breaks or falls silent
is thrown away whole and a new one is opened: that client, left to itself, tries the address of
the broken one again for ever.
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
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.errors import DeliveryFailed
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.client.errors import NotPermitted
from bot.platforms.slack.transport.dispatch import REFUSED, Dispatcher, Malformed, bolt_request
from bot.platforms.slack.workspace.bot_identity import SOCKET, SlackHealth

_OK = 200

log = structlog.get_logger(__name__)


class EnvelopeReceiver:
    """Takes what comes over any connection, and acknowledges what is kept, or is not ours.

    What is not acknowledged, Slack sends again.
    """

    def __init__(self, intake: Dispatcher) -> None:
        self._intake = intake
        self._closed = False
        self._under_way: set[asyncio.Event] = set()

    async def take(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Answer one envelope."""
        if self._closed:
            return
        ended = asyncio.Event()
        self._under_way.add(ended)
        try:
            await self._answer(client, request)
        finally:
            self._under_way.discard(ended)
            ended.set()

    async def finish(self, seconds: float) -> None:
        """Take nothing more, and wait for what is under way."""
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for ended in tuple(self._under_way):
                    await ended.wait()

    async def _answer(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
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
            taken = bolt_request(
                request.payload, {"x-slack-retry-num": retried}, mode="socket_mode"
            )
        except Malformed:
            log.warning("slack.malformed", type=request.type)
            return BoltResponse(status=_OK, body="")
        response = await self._intake.take(taken)
        # It is not ours today, and would not be when it is sent again.
        return BoltResponse(status=_OK, body="") if response.status == REFUSED else response


class SocketConnection:
    """A connection by Slack's own client, which is not let reconnect by itself."""

    def __init__(
        self, token: str, client: AsyncWebClient, receiver: EnvelopeReceiver, ping_seconds: float
    ) -> None:
        logger = logging.getLogger("frontdesk.slack.socket")
        # The client writes whole messages to its log.
        logger.setLevel(logging.CRITICAL + 1)
        self._client = SocketModeClient(
            app_token=token,
            logger=logger,
            web_client=client,
            auto_reconnect_enabled=False,
            ping_interval=ping_seconds,
            on_message_listeners=[self._heard],
        )
        self._client.socket_mode_request_listeners.append(receiver.take)
        self._hello = asyncio.Event()

    async def open(self, address: str) -> None:
        """Connect, and wait until Slack says hello, which is the first that it says."""
        self._client.wss_uri = address
        await self._client.connect()  # type: ignore[no-untyped-call]  # slack_sdk gives none
        await self._hello.wait()

    async def is_sound(self) -> bool:
        """Tell whether it is open, and Slack has answered one of the last four pings."""
        return await self._client.is_connected()

    async def close(self) -> None:
        """Close it; what is under way on it can't be acknowledged any more."""
        with suppress(ClientError, OSError):
            await self._client.close()  # type: ignore[no-untyped-call]  # as above

    async def _heard(self, _: WSMessage) -> None:
        self._hello.set()


_CURE = (
    "Check the network, and SLACK_APP_TOKEN (Basic Information > App-Level Tokens, scope "
    "connections:write; Socket Mode switched on)."
)


@dataclass(frozen=True, slots=True)
class SocketTimeouts:
    """Seconds: for a connection, between looks at it, between pings, before the next connection.

    ``start`` is how long the server's start waits for it; ``finish`` is for what is under way at
    the end.
    """

    start: float = 2.0
    connect: float = 10.0
    look: float = 1.0
    ping: float = 5.0
    first_pause: float = 1.0
    longest_pause: float = 30.0
    finish: float = 3.0


class SocketMode:
    """Keeps one connection open while an application runs, and says so when it can't.

    It is opened after everything else has started, so that what comes in can be kept, and closed
    before anything else stops.
    """

    def __init__(
        self,
        intake: Dispatcher,
        *,
        token: str,
        client: AsyncWebClient,
        caller: ApiCaller,
        standing: SlackHealth,
        patience: SocketTimeouts,
    ) -> None:
        self._receiver = EnvelopeReceiver(intake)
        self._token = token
        self._client = client
        self._caller = caller
        self._standing = standing
        self._patience = patience
        self._keeping: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()

    def mount(self, app: web.Application) -> None:
        """Open it with an application and close it with it."""
        app.on_startup.append(self._start)
        app.on_shutdown.append(self._stop)

    async def _start(self, _: web.Application) -> None:
        self._keeping = asyncio.create_task(self._keep())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience.start):
                await self._tried.wait()
                return
        self._lost("it is being opened")

    async def _stop(self, _: web.Application) -> None:
        await self._receiver.finish(self._patience.finish)
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping

    async def _keep(self) -> None:
        """Open one connection after the other; if one did not come about, the next one later.

        One that breaks is no trouble yet: Slack ends each after some hours. One that can't be
        opened is.
        """
        pause = self._patience.first_pause
        while True:
            held, why = await self._held()
            if held:
                pause = self._patience.first_pause
                log.info("slack.socket_ended", why=why)
            else:
                self._lost(why)
                self._tried.set()
            await asyncio.sleep(pause)
            pause = min(2 * pause, self._patience.longest_pause)

    async def _held(self) -> tuple[bool, str]:
        """Hold a connection as long as it is sound; tell whether there was one, and why no more."""
        held = False
        try:
            async with self._connection() as connection:
                held = True
                self._standing.clear(SOCKET)
                self._tried.set()
                log.info("slack.socket_connected")
                while await connection.is_sound():  # noqa: ASYNC110 - the client has no such event
                    await asyncio.sleep(self._patience.look)
        except NotPermitted as error:
            return held, f"Slack refuses SLACK_APP_TOKEN ({error.code})"
        except DeliveryFailed as error:
            return held, str(error).rstrip(".")
        except TimeoutError:
            return held, "Slack did not say hello"
        except Exception as error:
            log.exception("slack.socket_failed", error=type(error).__name__)
            return held, "of an error of ours"
        return held, "the connection broke"

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[SocketConnection]:
        """Open a connection. Raises DeliveryFailed, TimeoutError."""
        answer = await self._caller.call(
            "apps.connections.open",
            lambda: self._client.apps_connections_open(app_token=self._token),
        )
        connection = SocketConnection(
            self._token, self._client, self._receiver, self._patience.ping
        )
        try:
            async with asyncio.timeout(self._patience.connect):
                await connection.open(str(answer["url"]))
            yield connection
        finally:
            await connection.close()

    def _lost(self, why: str) -> None:
        log.warning("slack.socket_lost", why=why, cure=_CURE)
        self._standing.note(SOCKET, f"Socket Mode is not connected: {why}.", cure=_CURE)
