"""Enforce the rate limits, the daily model budgets and the pause; reject floods of messages.

Decisions of ``LimitChecks`` use only what was recorded before the message arrived, so a retry gives
the same result; only the pause is read as of now. Messages far above the rates are rejected before
they are recorded.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.answering.limit_reports import AskerNotices, RefusalLog
from bot.answering.routing.intent_rules import Rules
from bot.domain.errors import RateExceeded
from bot.domain.handoff import HANDOFF_OFFER
from bot.domain.markdown import clip
from bot.domain.messages import (
    NO_MODEL,
    Inquiry,
    Intent,
    InteractionId,
    Limit,
    Message,
    Refusal,
)
from bot.domain.usage import (
    Arrival,
    CurrentPause,
    Pause,
    RecentUse,
    Spent,
    UsageCounts,
    UsageLimits,
    day_of,
)

WINDOW = timedelta(seconds=60)
DAY = timedelta(days=1)

_STEP_SECONDS = 5
"""Waits are rounded up to a multiple of this in refusals."""
_FEW_MINUTES = 90
"""Waits up to this are stated in minutes, longer ones in hours."""
_PAUSE_REASON_CHARACTERS = 500
_BOT_TURNS = 3
"""Most answers to other bots in a thread until a person addresses the bot there."""

FLOOD_FACTOR = 3
"""Messages up to this multiple of a rate limit are recorded; beyond it they are rejected."""

_STOPS = (".", "!", "?", "\u2026")

_BOT_LOOP = "Another bot was answered three times here, and no person has said anything since."
_ASK_PERSON_IN_CHANNEL = "Mention me with \u201chuman\u201d and I will ask a person."
_NOT_KEPT = (
    "Your question is not kept for later, so please ask it again then. If it can't wait, please "
    "ask your help desk directly."
)


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that a message exceeds: its setting, the person or place it applies to, log figures.

    ``text`` is the reply to the asker.
    """

    limit: str
    key: str
    text: str
    figures: Mapping[str, object]
    met: Limit


class LimitChecks:
    """Check messages against the pause, the rates and the budgets.

    Rates apply to everyone, the pause to every message. A used-up budget does not stop a plain
    request for a person, nor channels answered without a model: neither calls one. A refusal is
    ephemeral, and ``notices`` limits how often it is posted; a loop of another bot is refused
    silently.
    """

    def __init__(
        self,
        limits: UsageLimits,
        *,
        use: UsageCounts,
        current_pause: CurrentPause,
        log: RefusalLog,
        notices: AskerNotices | None = None,
    ) -> None:
        self._limits = limits
        self._use = use
        self._current_pause = current_pause
        self._log = log
        self._notices = notices
        self._rules = Rules()

    async def check_message(self, message: Message) -> Arrival | Refusal:
        """Return the arrival of a message, or a refusal for a pause, a rate or a loop of bots."""
        pause = await self._current_pause(message.thread.tenant)
        if pause is not None:
            return await self._refuse(message, _paused(message, pause))
        recent = await self._use.recent(message, WINDOW, self._limits) or _unrecorded(message)
        too_fast = self._too_fast(message, recent)
        if too_fast is not None:
            return await self._refuse(message, too_fast)
        if message.by_bot and await self._is_bot_loop(message, recent.arrival):
            return Refusal(_BOT_LOOP, "bot_turns_per_thread", silent=True)
        return recent.arrival

    async def check_budget(
        self, message: Message, inquiry: Inquiry, arrival: Arrival
    ) -> Refusal | None:
        """Return a refusal if a budget is used up that answering the inquiry would draw on."""
        if inquiry.policy.model == NO_MODEL:
            return None
        used_up = await self._used_up_budget(message, arrival)
        if used_up is None or self._wants_a_person(inquiry):
            return None
        return await self._refuse(message, used_up)

    async def _is_bot_loop(self, message: Message, arrival: Arrival) -> bool:
        """Return whether another bot has had its turns: two bots would never stop by themselves."""
        turns = await self._use.bot_turns(message.thread, arrival, _BOT_TURNS)
        return turns >= _BOT_TURNS

    def _too_fast(self, message: Message, recent: RecentUse) -> Exceeded | None:
        limits, arrival = self._limits, recent.arrival
        if 0 < limits.per_user <= len(recent.by_person):
            wait = _seconds_until_room(recent.by_person, arrival)
            key = "rate_per_user_per_minute", arrival.person
            return _too_many(*key, limits.per_user, "from one person", arrival.at, wait)
        if 0 < limits.per_channel <= len(recent.in_channel):
            wait = _seconds_until_room(recent.in_channel, arrival)
            key = "rate_per_channel_per_minute", arrival.channel
            where = "in one conversation" if message.private else "in one channel"
            return _too_many(*key, limits.per_channel, where, arrival.at, wait)
        return None

    async def _used_up_budget(self, message: Message, arrival: Arrival) -> Exceeded | None:
        limits, tenant = self._limits, message.thread.tenant
        if not (limits.tokens or limits.usd or limits.tokens_per_user):
            return None
        day = day_of(arrival.at)
        met = Limit("budget", day + DAY)
        if limits.tokens or limits.usd:
            spent = await self._use.spent(tenant, day, arrival.at)
            if limits.usd and spent.unpriced:
                self._log.unpriced(tenant, day.date(), spent.unpriced)
            if over := exceeded_budget(limits, spent):
                text = _budget_used_up_text("all the answers", message, arrival.at)
                return Exceeded(over[0], tenant, text, over[1], met)
        if most := limits.tokens_per_user:
            spent = await self._use.spent(tenant, day, arrival.at, arrival.person)
            if spent.tokens >= most:
                text = _budget_used_up_text("you all the answers", message, arrival.at)
                figures = {"tokens": spent.tokens, "allowed": most}
                limit = "model_tokens_per_user_per_day"
                return Exceeded(limit, arrival.person, text, figures, met)
        return None

    def _wants_a_person(self, inquiry: Inquiry) -> bool:
        ruling = self._rules.decide(inquiry.message.text, inquiry.history)
        return ruling is not None and ruling.intent is Intent.HUMAN

    async def _refuse(self, message: Message, exceeded: Exceeded) -> Refusal:
        asked = {
            "tenant": message.thread.tenant,
            "person": message.author.id,
            "channel": _logged_channel(message),
            "interaction_id": message.interaction_id,
        }
        self._log.refused(exceeded.limit, exceeded.key, {**asked, **exceeded.figures})
        due = self._notices is None or await self._notices.due(message, exceeded.limit)
        return Refusal(
            exceeded.text,
            note=exceeded.limit,
            silent=not due,
            limit=exceeded.met,
            ephemeral=True,
        )


def exceeded_budget(limits: UsageLimits, spent: Spent) -> tuple[str, Mapping[str, object]] | None:
    """Return a day's budget that is used up, with the figures for the log; None if none is."""
    if 0 < limits.tokens <= spent.tokens:
        return "model_tokens_per_day", {"tokens": spent.tokens, "allowed": limits.tokens}
    if 0 < limits.usd <= spent.usd:
        return "model_usd_per_day", {"usd": round(spent.usd, 6), "allowed": limits.usd}
    return None


def _unrecorded(message: Message) -> RecentUse:
    """Return the arrival of an unrecorded message, before which nothing is counted."""
    arrival = Arrival(0, message.received_at, message.author.id, "", message.overheard)
    return RecentUse(arrival)


def _seconds_until_room(before: Sequence[datetime], arrival: Arrival) -> float:
    """Return the seconds until a message fits the rate again, if no other comes; at most 60.

    The refused message counts too, so the two oldest messages must leave the window.
    """
    staying = before[-2] if len(before) > 1 else arrival.at
    return min(WINDOW, max(timedelta(0), staying + WINDOW - arrival.at)).total_seconds()


def _too_many(limit: str, key: str, most: int, where: str, at: datetime, wait: float) -> Exceeded:
    messages = "1 message" if most == 1 else f"{most} messages"
    steps = max(1, math.ceil(wait / _STEP_SECONDS))
    text = (
        f"I can only take {messages} a minute {where}. "
        f"Please ask again in about {steps * _STEP_SECONDS} seconds."
    )
    figures = {"allowed": most, "window_seconds": 60, "wait_seconds": round(wait, 1)}
    return Exceeded(limit, key, text, figures, Limit("rate", at + timedelta(seconds=wait)))


def _budget_used_up_text(given: str, message: Message, at: datetime) -> str:
    minutes = math.ceil((day_of(at) + DAY - at) / timedelta(minutes=1))
    left = f"{minutes} minutes" if minutes <= _FEW_MINUTES else f"{round(minutes / 60)} hours"
    person = HANDOFF_OFFER if message.private else _ASK_PERSON_IN_CHANNEL
    return (
        f"I've given {given} I may for today. I can answer again after midnight UTC, in about "
        f"{left}. {person}"
    )


def _paused(message: Message, pause: Pause) -> Exceeded:
    reason = clip(pause.reason, _PAUSE_REASON_CHARACTERS)
    stop = "" if reason.endswith(_STOPS) else "."
    figures = {"paused_by": pause.by, "since": pause.since.isoformat()}
    text = f"I'm paused for now: {reason}{stop} {_NOT_KEPT}"
    return Exceeded("pause", message.thread.tenant, text, figures, Limit("pause"))


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
        figures = {"allowed": most, "kept": False, "channel": _logged_channel(message)}
        self._notices.refused(limit, f"{whose}:dropped", {"person": message.author.id, **figures})
        raise RateExceeded(
            f"That is more than {FLOOD_FACTOR} times the {most} messages a minute that I can take. "
            "Please wait a minute, and ask again.",
            retry_after_seconds=max(1, math.ceil(wait)),
        )


def _logged_channel(message: Message) -> str:
    """Return a channel for the log; a private one would say who asked."""
    thread = message.thread
    return f"{thread.platform}:{'(private)' if message.private else thread.channel}"
