"""How often Slack is called: a little less than it takes, and not at all where it says to wait."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Pause = Callable[[float], Awaitable[None]]
Clock = Callable[[], float]

_REMEMBERED = 1_000
"""Places that are kept in mind; a channel that was written to long ago has nothing to say."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many calls at once, then one in every ``seconds``."""

    burst: int
    seconds: float


POSTS = Rate(burst=1, seconds=1.0)
"""One message a second in a channel."""

_TIER_2 = Rate(burst=6, seconds=5.0)
_TIER_3 = Rate(burst=15, seconds=2.0)
_TIER_4 = Rate(burst=30, seconds=1.0)
"""In any minute nine tenths of what Slack promises: 20, 50 and 100 calls."""

_FREE = Rate(burst=1, seconds=0.0)
_RATES = {
    "agents.sessions.setStatus": _TIER_3,
    "assistant.threads.setStatus": _TIER_4,
    "assistant.threads.setSuggestedPrompts": _TIER_4,
    "chat.delete": _TIER_3,
    "chat.postEphemeral": _TIER_4,
    "chat.postMessage": POSTS,
    "chat.update": _TIER_3,
    "conversations.history": _TIER_3,
    "conversations.info": _TIER_3,
    "conversations.open": _TIER_3,
    "conversations.replies": _TIER_3,
    "reactions.add": _TIER_3,
    "reactions.remove": _TIER_2,
    "usergroups.list": _TIER_2,
    "usergroups.users.list": _TIER_2,
    "users.info": _TIER_4,
    "users.lookupByEmail": _TIER_3,
    "views.open": _TIER_4,
    "views.update": _TIER_4,
}


@dataclass(slots=True)
class _Place:
    """When the next call is due, if no burst is allowed, and who is waiting for it, in order."""

    due: float = 0.0
    held_until: float = 0.0
    line: asyncio.Lock = field(default_factory=asyncio.Lock)


class Pacing:
    """Gives calls their time, in the order in which they ask, for one process.

    A method is paced for the whole workspace; one that is called with a ``channel``, for that
    channel alone. What Slack refuses nevertheless (``hold``) holds for everybody.
    """

    def __init__(self, pause: Pause = asyncio.sleep, clock: Clock = time.monotonic) -> None:
        self._pause = pause
        self._clock = clock
        self._places: OrderedDict[tuple[str, str], _Place] = OrderedDict()

    async def take(self, method: str, channel: str = "") -> None:
        """Wait until a call may be made, and count it."""
        place = self._place(method, channel)
        async with place.line:
            now = await self._waited(method, place)
            _count(_rate(method), place, now)

    async def opening(self, method: str, channel: str = "") -> None:
        """Wait until a call might be made, and count nothing."""
        await self._waited(method, self._place(method, channel))

    def take_now(self, method: str, channel: str = "") -> bool:
        """Count a call and return True, or return False where it had to wait."""
        place, now = self._place(method, channel), self._clock()
        if place.line.locked() or _wait(_rate(method), place, now) > 0:
            return False
        _count(_rate(method), place, now)
        return True

    def hold(self, method: str, channel: str, seconds: float) -> None:
        """Let nobody call for a while: Slack said so."""
        place = self._place(method, channel)
        place.held_until = max(place.held_until, self._clock() + seconds)

    def held(self, method: str, channel: str = "") -> float:
        """Return for how many seconds Slack does not want the call."""
        return max(0.0, self._place(method, channel).held_until - self._clock())

    def wait(self, method: str, channel: str = "") -> float:
        """Return for how many seconds a call would wait that is asked for now."""
        return max(0.0, _wait(_rate(method), self._place(method, channel), self._clock()))

    async def _waited(self, method: str, place: _Place) -> float:
        """Wait; return the time at its end, for which the pause vouches, not the clock."""
        now = self._clock()
        while (wait := _wait(_rate(method), place, now)) > 0:
            await self._pause(wait)
            now = max(now + wait, self._clock())
        return now

    def _place(self, method: str, channel: str) -> _Place:
        place = self._places.setdefault((method, channel), _Place())
        self._places.move_to_end((method, channel))
        while len(self._places) > _REMEMBERED:
            self._places.popitem(last=False)
        return place


def _rate(method: str) -> Rate:
    return _RATES.get(method, _FREE)


def _wait(rate: Rate, place: _Place, now: float) -> float:
    early = place.due - (rate.burst - 1) * rate.seconds
    return max(early, place.held_until) - now


def _count(rate: Rate, place: _Place, now: float) -> None:
    place.due = max(place.due, now) + rate.seconds
