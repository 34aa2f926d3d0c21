"""One socket to Slack, from its hello to its end, and what is taken from it."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

import structlog
from aiohttp import ClientError, WSMessage
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.arriving.intake import REFUSED, Intake
from bot.adapters.slack.wire.requests import Malformed, bolt_request

_KEPT = 200

log = structlog.get_logger(__name__)


class Receiver:
    """Takes what comes over any connection, and acknowledges what is kept, or is not ours.

    What is not acknowledged, Slack sends again.
    """

    def __init__(self, intake: Intake) -> None:
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
        if response.status != _KEPT:
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
            return BoltResponse(status=_KEPT, body="")
        response = await self._intake.take(taken)
        # It is not ours today, and would not be when it is sent again.
        return BoltResponse(status=_KEPT, body="") if response.status == REFUSED else response


class Connection:
    """A connection by Slack's own client, which is not let reconnect by itself."""

    def __init__(
        self, token: str, client: AsyncWebClient, receiver: Receiver, ping_seconds: float
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
