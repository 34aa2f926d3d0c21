"""Calls to Slack's Web API, each in its time; waits out short limits, names what went wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.calling.answers import USUAL_WAIT_SECONDS, code_of, limited, named, unknown
from bot.adapters.slack.calling.errors import NotPermitted, RateLimited
from bot.adapters.slack.calling.pacing import Clock, Pacing, Pause
from bot.domain.errors import DeliveryFailed

Send = Callable[[], Awaitable[AsyncSlackResponse]]

PATIENCE_SECONDS = 2.0
"""A call waits so long for a rate limit; what takes longer waits in the inbox, at no cost."""


class Caller:
    """Makes calls; a client handed to it must not retry by itself, or messages are doubled.

    All calls of a process to one workspace go through one caller, which keeps their pace.
    """

    def __init__(self, pause: Pause = asyncio.sleep, clock: Clock = time.monotonic) -> None:
        self._pacing = Pacing(pause, clock)
        self.barred = ""
        """Why nothing is called now: the token is lost. Empty as long as it is not."""

    async def call(
        self,
        what: str,
        send: Send,
        *,
        channel: str = "",
        patience_seconds: float = PATIENCE_SECONDS,
        turn_seconds: float | None = None,
    ) -> AsyncSlackResponse:
        """Make a call, again while Slack says that it is too much, as long as patience lasts.

        ``what`` is the method, ``channel`` where it is paced by channel. Its turn is waited for
        without counting, unless ``turn_seconds`` say how long, or there is no patience at all: what
        can't go at once then fails.
        Raises FormRefused, RateLimited, ResultUnknown, NotPermitted, NeverPermitted,
        DeliveryFailed.
        """
        if self.barred:
            raise NotPermitted(f"{what} was not called. {self.barred}", "token_revoked")
        async with _within(turn_seconds, what):
            await self._begin(what, channel, patience_seconds)
        left = patience_seconds
        while True:
            try:
                return await _sent(what, send)
            except RateLimited as error:
                self._pacing.hold(what, channel, error.retry_after_seconds or USUAL_WAIT_SECONDS)
                wait = self._pacing.wait(what, channel)
                if wait > left:
                    raise
                left -= wait
                await self._pacing.take(what, channel)

    async def opening(self, what: str, channel: str = "") -> None:
        """Wait until a call could be made without waiting; others may be faster."""
        await self._pacing.opening(what, channel)

    async def _begin(self, what: str, channel: str, patience_seconds: float) -> None:
        held = self._pacing.held(what, channel)
        if held > patience_seconds:
            raise limited(what, held)
        if patience_seconds > 0:
            await self._pacing.take(what, channel)
        elif not self._pacing.take_now(what, channel):
            raise limited(what, None)


@asynccontextmanager
async def _within(seconds: float | None, what: str) -> AsyncIterator[None]:
    """Give up a turn that takes too long to come. Raises RateLimited."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise limited(what, None) from error


async def _sent(what: str, send: Send) -> AsyncSlackResponse:
    try:
        return await send()
    except SlackApiError as error:
        raise named(what, error.response) from error
    except aiohttp.ClientConnectorError as error:
        raise DeliveryFailed(f"{what}: Slack cannot be reached. Check the network.") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise unknown(f"{what}: the connection broke before Slack answered.") from error
    except SlackClientError as error:
        raise DeliveryFailed(f"{what}: the request could not be made.") from error
    except AttributeError as error:
        # slack_sdk stumbles over an answer that is no JSON object: a proxy's page.
        raise unknown(f"{what}: the answer is not Slack's. Check the proxy between.") from error


def error_code(error: SlackApiError) -> str:
    """Return Slack's name of an error, "" when it gave none."""
    return code_of(error.response)
