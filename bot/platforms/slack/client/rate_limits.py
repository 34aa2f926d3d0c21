"""Make calls of Slack within its rate limits, and raise a specific error for each failure.

Calls are paced a little below Slack's documented limits: a method for the whole workspace or, for
posts, for each channel (docs/adr/0006). Short waits are spent here; longer ones are left to the
inbox.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.errors import DeliveryFailed, RateLimited
from bot.platforms.slack.client.errors import (
    USUAL_WAIT_SECONDS,
    NotPermitted,
    error_from_response,
    rate_limited,
    result_unknown,
)
from rag.types import BoundedDict

Pause = Callable[[float], Awaitable[None]]
Clock = Callable[[], float]

_MOST_WINDOWS = 1_000
"""Rate windows kept; that of a channel not written to for long restricts nothing any more."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate limit: at most ``calls`` in any ``seconds``, all of them at once if need be."""

    calls: int
    seconds: float

    @property
    def two_thirds(self) -> Rate:
        """The rate with two thirds of the calls, rounded up."""
        return Rate(-(-2 * self.calls // 3), self.seconds)


POST_RATE = Rate(calls=1, seconds=1.0)
"""One message a second in a channel."""

_TIER_2 = Rate(calls=18, seconds=60.0)
_TIER_3 = Rate(calls=45, seconds=60.0)
_TIER_4 = Rate(calls=90, seconds=60.0)
"""Nine tenths of Slack's limits for these tiers: 20, 50 and 100 calls a minute. Slack allows
bursts, and dozens of posts are looked up at once after a server died."""

_FREE = Rate(calls=1, seconds=0.0)  # Methods without an entry below are not paced.
_RATES = {
    "agents.sessions.setStatus": _TIER_3,
    "assistant.threads.setStatus": _TIER_4,
    "assistant.threads.setSuggestedPrompts": _TIER_4,
    "chat.delete": _TIER_3,
    "chat.postEphemeral": _TIER_4,
    "chat.postMessage": POST_RATE,
    "chat.update": _TIER_3,
    "conversations.history": _TIER_3,
    "conversations.info": _TIER_3,
    "conversations.members": _TIER_4,
    "conversations.open": _TIER_3,
    "conversations.replies": _TIER_3,
    "reactions.add": _TIER_3,
    "reactions.remove": _TIER_2,
    "usergroups.list": _TIER_2,
    "usergroups.users.list": _TIER_2,
    "users.info": _TIER_4,
    "users.list": _TIER_2,
    "users.lookupByEmail": _TIER_3,
    "views.open": _TIER_4,
    "views.update": _TIER_4,
}


@dataclass(slots=True)
class _RateWindow:
    """When the latest calls were made, until when Slack bars calls, and who waits."""

    made_at: deque[float] = field(default_factory=deque)
    held_until: float = 0.0
    queue: asyncio.Lock = field(default_factory=asyncio.Lock)


class RateLimiter:
    """Paces calls, in the order in which they are requested, for one process.

    A method is paced for the whole workspace; one that is called with a ``channel``, for that
    channel alone. A limit that Slack reports nevertheless (``hold``) applies to all callers.
    """

    def __init__(self, pause: Pause = asyncio.sleep, clock: Clock = time.monotonic) -> None:
        self._pause = pause
        self._clock = clock
        self._windows = BoundedDict[tuple[str, str], _RateWindow](_MOST_WINDOWS)

    async def acquire(self, method: str, channel: str = "") -> None:
        """Wait until a call is allowed, and count it."""
        window = self._window(method, channel)
        async with window.queue:
            now = await self._waited(method, window)
            _count(_rate(method), window, now)

    async def until_allowed(self, method: str, channel: str = "") -> None:
        """Wait until a call would be allowed, without counting one."""
        await self._waited(method, self._window(method, channel))

    def try_acquire(self, method: str, channel: str = "") -> bool:
        """Count a call and return True, or return False if it had to wait.

        A third of the calls is left to callers that wait: what may be left out delays no others.
        """
        window, now = self._window(method, channel), self._clock()
        if window.queue.locked() or _wait(_rate(method).two_thirds, window, now) > 0:
            return False
        _count(_rate(method), window, now)
        return True

    def hold(self, method: str, channel: str, seconds: float) -> None:
        """Bar a call for the seconds that Slack requested."""
        window = self._window(method, channel)
        window.held_until = max(window.held_until, self._clock() + seconds)

    def held(self, method: str, channel: str = "") -> float:
        """Return for how many seconds Slack still bars the call."""
        return max(0.0, self._window(method, channel).held_until - self._clock())

    def wait(self, method: str, channel: str = "") -> float:
        """Return for how many seconds a call requested now would wait."""
        return max(0.0, _wait(_rate(method), self._window(method, channel), self._clock()))

    async def _waited(self, method: str, window: _RateWindow) -> float:
        """Wait for the turn; return the time then, counting each pause as slept in full."""
        now = self._clock()
        while (wait := _wait(_rate(method), window, now)) > 0:
            await self._pause(wait)
            now = max(now + wait, self._clock())
        return now

    def _window(self, method: str, channel: str) -> _RateWindow:
        key = (method, channel)
        window = self._windows[key] = self._windows.get(key) or _RateWindow()
        return window


def _rate(method: str) -> Rate:
    return _RATES.get(method, _FREE)


def _wait(rate: Rate, window: _RateWindow, now: float) -> float:
    full = len(window.made_at) >= rate.calls
    early = window.made_at[-rate.calls] + rate.seconds if full else 0.0
    return max(early, window.held_until) - now


def _count(rate: Rate, window: _RateWindow, now: float) -> None:
    window.made_at.append(now)
    while len(window.made_at) > rate.calls:
        window.made_at.popleft()


ApiCall = Callable[[], Awaitable[AsyncSlackResponse]]

PATIENCE_SECONDS = 2.0
"""How long a call waits for a rate limit; a longer wait costs nothing in the inbox."""

LOOKUP_SECONDS = 5.0
"""Deadline of one lookup, as an asker waits; whoever is not identified by then gets no answer."""

LOOKUP_TURN_SECONDS = 60.0
"""How long a lookup may wait for its rate limit. Of many at once, also after a start, each is
answered, if not at once: refusing colleagues would be worse than letting them wait."""


class ApiCaller:
    """Makes paced calls of Slack's Web API, and repeats those that Slack rate-limits.

    The client must not retry by itself, or messages are doubled. All calls of a process to one
    workspace go through one caller, which paces them.
    """

    def __init__(self, pause: Pause = asyncio.sleep, clock: Clock = time.monotonic) -> None:
        self._limiter = RateLimiter(pause, clock)
        self.barred = ""
        """Why calls are barred: the token is lost. "" while it works."""

    async def call(
        self,
        what: str,
        send: ApiCall,
        *,
        channel: str = "",
        patience_seconds: float = PATIENCE_SECONDS,
        turn_seconds: float | None = None,
        call_seconds: float | None = None,
        needs_token: bool = True,
    ) -> AsyncSlackResponse:
        """Make a call, and repeat it while Slack rate-limits it and the patience lasts.

        ``what`` is the method, ``channel`` the channel, or response URL, if it is paced by that;
        without ``needs_token`` it is made also after the token is lost. The wait for its
        turn does not count as patience, and is unlimited unless ``turn_seconds`` limits it; nor
        does the call itself, limited by ``call_seconds``. Without any patience, a call that can't
        be made at once fails.
        Raises FormRefused, RateLimited, ResultUnknown, NotPermitted, NeverPermitted,
        DeliveryFailed.
        """
        if self.barred and needs_token:
            raise NotPermitted(f"{what} was not called. {self.barred}", "token_revoked")
        try:
            async with asyncio.timeout(turn_seconds):
                await self._begin(what, channel, patience_seconds)
        except TimeoutError as error:
            raise rate_limited(what, None) from error
        left = patience_seconds
        while True:
            try:
                return await _sent(what, send, call_seconds)
            except RateLimited as error:
                self._limiter.hold(what, channel, error.retry_after_seconds or USUAL_WAIT_SECONDS)
                wait = self._limiter.wait(what, channel)
                if wait > left:
                    raise
                left -= wait
                await self._limiter.acquire(what, channel)

    async def until_allowed(self, what: str, channel: str = "") -> None:
        """Wait until a call could be made without waiting; another caller may be faster."""
        await self._limiter.until_allowed(what, channel)

    async def _begin(self, what: str, channel: str, patience_seconds: float) -> None:
        held = self._limiter.held(what, channel)
        if held > patience_seconds:
            raise rate_limited(what, held)
        if patience_seconds > 0:
            await self._limiter.acquire(what, channel)
        elif not self._limiter.try_acquire(what, channel):
            raise rate_limited(what, None)


async def _sent(what: str, send: ApiCall, seconds: float | None) -> AsyncSlackResponse:
    try:
        async with asyncio.timeout(seconds):
            return await send()
    except SlackApiError as error:
        raise error_from_response(what, error.response) from error
    except aiohttp.ClientConnectorError as error:
        raise DeliveryFailed(f"{what}: Slack cannot be reached. Check the network.") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise result_unknown(f"{what}: the connection broke before Slack answered.") from error
    except SlackClientError as error:
        raise DeliveryFailed(f"{what}: the request could not be made.") from error
    except AttributeError as error:
        # slack_sdk raises AttributeError for a response that is no JSON object: a proxy's page.
        raise result_unknown(
            f"{what}: the answer is not Slack's. Check the proxy between."
        ) from error
