"""Slack's events over a socket that we open: no address of ours, no signatures.

Slack's own client does the talking on one connection. A connection that breaks or falls silent is
thrown away whole and a new one is opened: that client, left to itself, tries the address of the
broken one again for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.arriving.connection import Connection, Receiver
from bot.adapters.slack.arriving.intake import Intake
from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.calling.errors import NotPermitted
from bot.adapters.slack.home.standing import SOCKET, Standing
from bot.domain.errors import DeliveryFailed

_CURE = (
    "Check the network, and SLACK_APP_TOKEN (Basic Information > App-Level Tokens, scope "
    "connections:write; Socket Mode switched on)."
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Patience:
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


class Socket:
    """Keeps one connection open while an application runs, and says so when it can't.

    It is opened after everything else has started, so that what comes in can be kept, and closed
    before anything else stops.
    """

    def __init__(
        self,
        intake: Intake,
        *,
        token: str,
        client: AsyncWebClient,
        caller: Caller,
        standing: Standing,
        patience: Patience,
    ) -> None:
        self._receiver = Receiver(intake)
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
    async def _connection(self) -> AsyncIterator[Connection]:
        """Open a connection. Raises DeliveryFailed, TimeoutError."""
        answer = await self._caller.call(
            "apps.connections.open",
            lambda: self._client.apps_connections_open(app_token=self._token),
        )
        connection = Connection(self._token, self._client, self._receiver, self._patience.ping)
        try:
            async with asyncio.timeout(self._patience.connect):
                await connection.open(str(answer["url"]))
            yield connection
        finally:
            await connection.close()

    def _lost(self, why: str) -> None:
        log.warning("slack.socket_lost", why=why, cure=_CURE)
        self._standing.note(SOCKET, f"Socket Mode is not connected: {why}.", cure=_CURE)
