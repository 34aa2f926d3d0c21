"""Reject messages far above the rate limits before they are recorded."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from bot.answering.limit_notices import RefusalLog
from bot.answering.limits import WINDOW
from bot.domain.errors import RateExceeded
from bot.domain.messages import InteractionId, Message
from bot.domain.usage import UsageLimits

FLOOD_FACTOR = 3
"""Messages up to this multiple of a rate limit are recorded; beyond it they are rejected."""

_SECONDS = WINDOW.total_seconds()
_Key = tuple[str, str, str, bool]
_Arrivals = deque[tuple[float, InteractionId]]


class FloodControl:
    """Count the messages per person and per channel within a minute, and reject floods.

    Each process counts for itself, in memory: this bounds what a flood writes; the rate limits
    themselves are counted in the record. Overheard messages are counted separately, as there.

    Args:
        limits: The rates; 0 is without limit.
        notices: Logs the rejections.
        dropped: Called with every rejected message.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self,
        limits: UsageLimits,
        notices: RefusalLog,
        dropped: Callable[[Message], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._notices = notices
        self._dropped = dropped
        self._clock = clock
        self._kept: OrderedDict[_Key, _Arrivals] = OrderedDict()

    @property
    def remembered(self) -> int:
        """Return the number of persons and channels kept in memory."""
        return len(self._kept)

    def check(self, message: Message) -> None:
        """Count a message; repeated deliveries count once. Raises RateExceeded for a flood."""
        now, counted = self._clock(), message.interaction_id
        self._forget(now)
        rates = list(self._rates(message))
        for key, most in rates:
            kept = self._within(key, now)
            if len(kept) >= FLOOD_FACTOR * most and all(counted != each for _, each in kept):
                self._hold_back(message, key, kept[0][0] + _SECONDS - now, most)
        for key, most in rates:
            self._count(key, counted, now, most)

    def _rates(self, message: Message) -> Iterator[tuple[_Key, int]]:
        thread, overheard = message.thread, message.overheard
        if most := self._limits.per_user:
            yield ("rate_per_user_per_minute", thread.tenant, message.author.id, overheard), most
        if most := self._limits.per_channel:
            channel = f"{thread.platform}:{thread.channel}"
            yield ("rate_per_channel_per_minute", thread.tenant, channel, overheard), most

    def _count(self, key: _Key, counted: InteractionId, now: float, most: int) -> None:
        # Set again at the end: _forget relies on keys in the order of their last message.
        kept = self._kept.pop(key, None) or deque(maxlen=FLOOD_FACTOR * most)
        self._kept[key] = kept
        if all(counted != each for _, each in kept):
            kept.append((now, counted))

    def _within(self, key: _Key, now: float) -> _Arrivals:
        kept = self._kept.get(key, deque())
        while kept and kept[0][0] <= now - _SECONDS:
            kept.popleft()
        return kept

    def _forget(self, now: float) -> None:
        """Drop entries older than a minute, and persons and channels without any."""
        for key in list(self._kept):
            if self._within(key, now):
                break
            del self._kept[key]

    def _hold_back(self, message: Message, key: _Key, wait: float, most: int) -> None:
        limit, _, whose, _ = key
        self._dropped(message)
        figures = {"allowed": most, "kept": False, "channel": message.thread.channel}
        self._notices.refused(limit, f"{whose}:dropped", {"person": message.author.id, **figures})
        raise RateExceeded(
            f"That is more than {FLOOD_FACTOR} times the {most} messages a minute that I can take. "
            "Please wait a minute, and ask again.",
            retry_after_seconds=max(1, math.ceil(wait)),
        )
