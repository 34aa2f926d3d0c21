"""Usage limits, usage before a message arrived, and the pause of all answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from bot.domain.messages import Message, Thread
from bot.domain.settings import Settings


@dataclass(frozen=True, slots=True)
class Arrival:
    """Time, order, sender and channel of a recorded message.

    ``number`` is the order of arrival. ``channel`` is ``platform:channel``. ``overheard``: the
    message does not address the bot.
    """

    number: int
    at: datetime
    person: str
    channel: str
    overheard: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """Usage of models; ``unpriced`` calls count in ``tokens``, not in ``usd``."""

    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause of all answers, and who ordered it; everyone may read ``reason``."""

    reason: str
    by: str
    since: datetime


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """Usage limits; 0 is no limit. Tokens are those of prompt and answer together."""

    per_user: int = 0
    per_channel: int = 0
    tokens: int = 0
    usd: float = 0.0
    tokens_per_user: int = 0


@dataclass(frozen=True, slots=True)
class RecentUse:
    """A message's arrival, and the times of the last messages before it, newest first.

    ``by_person`` are its person's, as many as the limit allows at most, ``in_channel`` the
    channel's, with no more of each person than a person's own limit allows. A flooding person
    uses no more of the channel's limit than that. Without a limit, none are counted.
    """

    arrival: Arrival
    by_person: Sequence[datetime] = ()
    in_channel: Sequence[datetime] = ()


class UsageCounts(Protocol):
    """Port: count the recorded use before a message's arrival. Raises StoreUnavailable."""

    async def recent(
        self, message: Message, within: timedelta, limits: UsageLimits
    ) -> RecentUse | None:
        """Return a message's arrival and what arrived less than ``within`` away from it.

        Messages that the bot left alone count only against overheard ones: ordinary talk must not
        use up the rate of questions. None if the message is not recorded.
        """
        ...

    async def bot_turns(self, thread: Thread, arrival: Arrival, most: int) -> int:
        """Return how many of a thread's last messages in a row were written by other bots.

        At most ``most``. Only messages before the arrival count, without those left alone.
        """
        ...

    async def spent(
        self, tenant: str, since: datetime, before: datetime, person: str | None = None
    ) -> Spent:
        """Return the tokens and cost of model calls in a period, of everyone or one person."""
        ...


CurrentPause = Callable[[str], Awaitable[Pause | None]]
"""Returns the current pause of a tenant, None if there is none. Raises StoreUnavailable."""


def usage_limits(settings: Settings) -> UsageLimits:
    """Return the configured limits; budgets only with a model."""
    limits = UsageLimits(settings.rate_per_user_per_minute, settings.rate_per_channel_per_minute)
    if not settings.model_configured:
        return limits
    return replace(
        limits,
        tokens=settings.model_tokens_per_day,
        usd=settings.model_usd_per_day,
        tokens_per_user=settings.model_tokens_per_user_per_day,
    )


def day_of(moment: datetime) -> datetime:
    """Return the start of a moment's UTC day."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
