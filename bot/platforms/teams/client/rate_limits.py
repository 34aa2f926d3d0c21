"""Limit the rate of calls to Teams, and stop them while Teams demands a pause.

Teams takes about one change a second per conversation. Optional calls have no patience: they are
dropped, and leave room for calls that must be made.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.errors import RateLimited
from rag.types import BoundedDict

Pause = Callable[[float], Awaitable[None]]
Clock = Callable[[], float]
Jitter = Callable[[], float]
"""Returns a number from 0 to 1."""

_WINDOW_MARGIN = 1.05
"""Factor on Teams' windows: calls sent evenly do not arrive evenly."""

_JITTER_SHARE = 0.25
_MOST_WINDOWS = 5_000


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Limit of ``most`` calls in ``seconds``; optional calls stop at ``optional`` calls."""

    most: int
    seconds: float
    optional: int


SEND_LIMITS = (
    RateLimit(7, 1.0, 5),
    RateLimit(8, 2.0, 6),
    RateLimit(60, 30.0, 45),
    RateLimit(1_800, 3_600.0, 1_350),
)
"""Posts, edits and deletions in a chat or a channel, with all its threads.

Microsoft's published limits; optional calls may use about three quarters of them.
"""

LOOKUP_LIMITS = (
    RateLimit(14, 1.0, 14),
    RateLimit(16, 2.0, 16),
    RateLimit(120, 30.0, 120),
    RateLimit(3_600, 3_600.0, 3_600),
)
"""Membership queries per chat or channel: Microsoft's published limits."""

OVERALL_LIMITS = (RateLimit(30, 1.0, 22),)
"""Limits of all calls together."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Sources of sleep, time and randomness, replaceable in tests."""

    pause: Pause = asyncio.sleep
    clock: Clock = time.monotonic
    jitter: Jitter = random.random


class CallWindow:
    """Sliding window that assigns calls their times, in the order of the requests."""

    def __init__(self, limits: tuple[RateLimit, ...]) -> None:
        self._limits = limits
        self._given: deque[float] = deque(maxlen=max(limit.most for limit in limits))
        self._held_until = float("-inf")

    def next_time(self, now: float, *, optional: bool = False) -> float:
        """Return when the next call may be made; an optional call leaves room for the others."""
        at = max(now, self._held_until, self._given[-1] if self._given else now)
        for limit in self._limits:
            most = limit.optional if optional else limit.most
            if len(self._given) >= most:
                at = max(at, self._given[-most] + limit.seconds * _WINDOW_MARGIN)
        return at

    def count(self, at: float) -> None:
        """Count a call at a time that ``next_time`` returned."""
        self._given.append(at)

    def hold(self, until: float) -> None:
        """Block all calls until a time."""
        self._held_until = max(self._held_until, until)


class RateLimiter:
    """Paces all calls of one process, per conversation (a chat or a channel) and in total.

    Times are those of the ``timing`` clock. After a pause its full length counts as elapsed, even
    if the clock shows less.
    """

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._overall = CallWindow(OVERALL_LIMITS)
        self._windows = BoundedDict[tuple[str, tuple[RateLimit, ...]], CallWindow](_MOST_WINDOWS)

    def now(self, vouched: float = float("-inf")) -> float:
        """Return the clock's time, but not less than ``vouched``, the end of the last pause."""
        return max(vouched, self._timing.clock())

    async def acquire(
        self,
        channel: str,
        limits: tuple[RateLimit, ...],
        *,
        now: float,
        patience_seconds: float,
    ) -> float:
        """Wait until a call may be made, and count it; return the time then.

        Raises RateLimited at once if the wait would exceed ``patience_seconds``. A call with a
        patience of 0 is optional: it leaves room for the others.
        """
        optional = not patience_seconds
        window = self._window(channel, limits)
        there = await self._acquire_slot(window, now, patience_seconds, optional=optional)
        left = max(0.0, patience_seconds - (there - now))
        return await self._acquire_slot(self._overall, there, left, optional=optional)

    def hold(self, channel: str, limits: tuple[RateLimit, ...], *, until: float) -> None:
        """Block calls to a conversation until a time, as Teams demanded."""
        self._window(channel, limits).hold(until)

    async def wait(self, seconds: float, *, now: float) -> float:
        """Sleep, with jitter so that not all waiting calls retry at once; return the time."""
        longer = seconds * (1 + _JITTER_SHARE * self._timing.jitter())
        await self._timing.pause(longer)
        return self.now(now + longer)

    async def _acquire_slot(
        self, window: CallWindow, now: float, patience: float, *, optional: bool
    ) -> float:
        at = window.next_time(now, optional=optional)
        if at - now > patience:
            raise RateLimited(
                "As much as Teams takes has been sent there. It is tried again later.",
                retry_after_seconds=at - now,
            )
        window.count(at)
        if at > now:
            await self._timing.pause(at - now)
        return self.now(at)

    def _window(self, channel: str, limits: tuple[RateLimit, ...]) -> CallWindow:
        key = (channel, limits)
        window = self._windows[key] = self._windows.get(key) or CallWindow(limits)
        return window


_MOST_COOLDOWNS = 1_000


class Cooldowns:
    """Stores, by key, until when optional progress updates are suppressed."""

    def __init__(self) -> None:
        self._held = BoundedDict[str, float](_MOST_COOLDOWNS)

    def is_due(self, key: str) -> bool:
        """Return whether an update may be shown now."""
        return time.monotonic() >= self._held.get(key, 0.0)

    def hold(self, key: str, seconds: float) -> None:
        """Suppress updates for some seconds."""
        self._held[key] = time.monotonic() + seconds
