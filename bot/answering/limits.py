"""Enforce the rate limits, the daily model budgets and the pause, and report their status.

Decisions use only what was recorded before the message arrived, so a retry gives the same result.
Only the pause is read as of now.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from bot.answering.limit_notices import AskerNotices, RefusalLog
from bot.answering.routing.intent_rules import Rules
from bot.domain.errors import StoreUnavailable
from bot.domain.handoff import HANDOFF_OFFER
from bot.domain.health import ComponentStatus
from bot.domain.messages import NO_MODEL, Inquiry, Intent, Limit, Message, Refusal, Thread
from bot.domain.ports import Admits
from bot.domain.settings import Settings
from bot.domain.text.markdown import clip
from bot.domain.usage import Arrival, Pause, Spent, UsageLimits, day_of, usage_limits
from bot.domain.users import short_actor_name

WINDOW = timedelta(seconds=60)
DAY = timedelta(days=1)

_STEP_SECONDS = 5
"""Waits are rounded up to a multiple of this in refusals."""
_FEW_MINUTES = 90
"""Waits up to this are stated in minutes, longer ones in hours."""
_PAUSE_REASON_CHARACTERS = 500
_BOT_TURNS = 3
"""Most answers to other bots in a thread until a person addresses the bot there."""

_STOPS = (".", "!", "?", "\u2026")

_BOT_LOOP = "Another bot was answered three times here, and no person has said anything since."
_ASK_PERSON_IN_CHANNEL = "Mention me with \u201chuman\u201d and I will ask a person."
_NOT_KEPT = (
    "Your question is not kept for later, so please ask it again then. If it can't wait, please "
    "ask your help desk directly."
)


class CountsUse(Protocol):
    """Port: count the recorded use before a message's arrival. Raises StoreUnavailable."""

    async def arrival(self, interaction_id: str) -> Arrival | None:
        """Return a message's recorded arrival; None if it is not recorded."""
        ...

    async def by_person(
        self, tenant: str, arrival: Arrival, within: timedelta, most: int
    ) -> Sequence[datetime]:
        """Return the arrival times of the person's last ``most`` messages, newest first.

        Only of messages less than ``within`` away from the arrival. Messages that the bot left
        alone count only against overheard ones: ordinary talk must not use up the rate of
        questions.
        """
        ...

    async def in_channel(
        self, tenant: str, arrival: Arrival, within: timedelta, most: int, each: int
    ) -> Sequence[datetime]:
        """Return the same for a channel, counting at most ``each`` messages per person (0: all)."""
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


class KnowsPause(Protocol):
    """Port: return the current pause, None if there is none. Raises StoreUnavailable."""

    async def current(self, tenant: str) -> Pause | None: ...


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


class LimitedAdmission:
    """Refuse messages that exceed a limit, and admit the others through another ``Admits``.

    Implements ``Admits``. Rates apply to everyone, the pause to every message. A used-up budget
    does not stop a plain request for a person, nor channels answered without a model: neither
    calls one. The refusal is ephemeral, and ``told`` limits how often it is posted; a loop of
    another bot is refused silently.
    """

    def __init__(
        self,
        inner: Admits,
        *,
        use: CountsUse,
        pauses: KnowsPause,
        limits: UsageLimits,
        notices: RefusalLog,
        told: AskerNotices | None = None,
    ) -> None:
        self._inner = inner
        self._use = use
        self._pauses = pauses
        self._limits = limits
        self._notices = notices
        self._told = told
        self._rules = Rules()

    async def admit(self, message: Message) -> Inquiry | Refusal:
        """Return the inquiry, or a refusal with the text for the asker."""
        pause = await self._pauses.current(message.thread.tenant)
        if pause is not None:
            return await self._refuse(message, _paused(message, pause))
        recorded = await self._use.arrival(message.interaction_id) or _unrecorded(message)
        arrival = replace(recorded, overheard=message.overheard)
        held = await self._held(message, arrival)
        if held is not None:
            return held
        admitted = await self._inner.admit(message)
        if isinstance(admitted, Refusal):
            return admitted
        if admitted.policy.model == NO_MODEL:
            return admitted
        used_up = await self._used_up(message, arrival)
        if used_up is None or self._wants_a_person(admitted):
            return admitted
        return await self._refuse(message, used_up)

    async def _held(self, message: Message, arrival: Arrival) -> Refusal | None:
        """Return a refusal for a rate or a bot loop; None if the message may be admitted."""
        hurried = await self._too_fast(message, arrival)
        if hurried is not None:
            return await self._refuse(message, hurried)
        if message.by_bot and await self._goes_on(message, arrival):
            return Refusal(_BOT_LOOP, "bot_turns_per_thread", silent=True)
        return None

    async def _goes_on(self, message: Message, arrival: Arrival) -> bool:
        """Return whether another bot has had its turns: two bots would never stop by themselves."""
        turns = await self._use.bot_turns(message.thread, arrival, _BOT_TURNS)
        return turns >= _BOT_TURNS

    async def _too_fast(self, message: Message, arrival: Arrival) -> Exceeded | None:
        tenant, limits = message.thread.tenant, self._limits
        if most := limits.per_user:
            before = await self._use.by_person(tenant, arrival, WINDOW, most)
            if len(before) >= most:
                key = "rate_per_user_per_minute", arrival.person
                return _too_many(
                    *key, most, "from one person", arrival.at, _seconds_until_room(before, arrival)
                )
        if most := limits.per_channel:
            before = await self._use.in_channel(tenant, arrival, WINDOW, most, limits.per_user)
            if len(before) >= most:
                key = "rate_per_channel_per_minute", arrival.channel
                where = "in one conversation" if message.private else "in one channel"
                return _too_many(
                    *key, most, where, arrival.at, _seconds_until_room(before, arrival)
                )
        return None

    async def _used_up(self, message: Message, arrival: Arrival) -> Exceeded | None:
        return await self._by_all(message, arrival) or await self._by_one(message, arrival)

    async def _by_all(self, message: Message, arrival: Arrival) -> Exceeded | None:
        limits, tenant = self._limits, message.thread.tenant
        if not (limits.tokens or limits.usd):
            return None
        day = day_of(arrival.at)
        spent = await self._use.spent(tenant, day, arrival.at)
        if limits.usd and spent.unpriced:
            self._notices.unpriced(tenant, day.date(), spent.unpriced)
        over = _exceeded_budget(limits, spent)
        if over is None:
            return None
        limit, figures = over
        text = _budget_used_up_text(
            "I've given all the answers I may for today.", message, arrival.at
        )
        return Exceeded(limit, tenant, text, figures, Limit("budget", day + DAY))

    async def _by_one(self, message: Message, arrival: Arrival) -> Exceeded | None:
        most = self._limits.tokens_per_user
        if not most:
            return None
        spent = await self._use.spent(
            message.thread.tenant, day_of(arrival.at), arrival.at, arrival.person
        )
        if spent.tokens < most:
            return None
        text = _budget_used_up_text(
            "I've given you all the answers I may for today.", message, arrival.at
        )
        figures = {"tokens": spent.tokens, "allowed": most}
        met = Limit("budget", day_of(arrival.at) + DAY)
        return Exceeded("model_tokens_per_user_per_day", arrival.person, text, figures, met)

    def _wants_a_person(self, inquiry: Inquiry) -> bool:
        ruling = self._rules.decide(inquiry.message.text, inquiry.history)
        return ruling is not None and ruling.intent is Intent.HUMAN

    async def _refuse(self, message: Message, exceeded: Exceeded) -> Refusal:
        thread = message.thread
        asked = {
            "tenant": thread.tenant,
            "person": message.author.id,
            "channel": f"{thread.platform}:{thread.channel}",
            "interaction_id": message.interaction_id,
        }
        self._notices.refused(exceeded.limit, exceeded.key, {**asked, **exceeded.figures})
        due = self._told is None or await self._told.due(message, exceeded.limit)
        return Refusal(
            exceeded.text,
            note=exceeded.limit,
            silent=not due,
            limit=exceeded.met,
            ephemeral=True,
        )


def _exceeded_budget(limits: UsageLimits, spent: Spent) -> tuple[str, Mapping[str, object]] | None:
    if 0 < limits.tokens <= spent.tokens:
        return "model_tokens_per_day", {"tokens": spent.tokens, "allowed": limits.tokens}
    if 0 < limits.usd <= spent.usd:
        return "model_usd_per_day", {"usd": round(spent.usd, 6), "allowed": limits.usd}
    return None


def _unrecorded(message: Message) -> Arrival:
    """Return an arrival for an unrecorded message, before which nothing is counted."""
    return Arrival(0, message.received_at, message.author.id, "")


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


def _budget_used_up_text(said: str, message: Message, at: datetime) -> str:
    minutes = math.ceil((day_of(at) + DAY - at) / timedelta(minutes=1))
    left = f"{minutes} minutes" if minutes <= _FEW_MINUTES else f"{round(minutes / 60)} hours"
    person = HANDOFF_OFFER if message.private else _ASK_PERSON_IN_CHANNEL
    return f"{said} I can answer again after midnight UTC, in about {left}. {person}"


def _paused(message: Message, pause: Pause) -> Exceeded:
    reason = clip(pause.reason, _PAUSE_REASON_CHARACTERS)
    stop = "" if reason.endswith(_STOPS) else "."
    figures = {"paused_by": pause.by, "since": pause.since.isoformat()}
    text = f"I'm paused for now: {reason}{stop} {_NOT_KEPT}"
    return Exceeded("pause", message.thread.tenant, text, figures, Limit("pause"))


_COMPONENT_NAME = "limits"
_STATUS_REASON_CHARACTERS = 160


def _now() -> datetime:
    return datetime.now(UTC)


async def limits_status(
    settings: Settings,
    use: CountsUse,
    pauses: KnowsPause,
    now: Callable[[], datetime] = _now,
) -> ComponentStatus:
    """Return the status of limits and pause now; "failed" only if the store is unavailable."""
    limits = usage_limits(settings)
    try:
        pause = await pauses.current(settings.tenant)
        spent = Spent()
        if limits.tokens or limits.usd:
            spent = await use.spent(settings.tenant, day_of(now()), now())
    except StoreUnavailable as error:
        return ComponentStatus(_COMPONENT_NAME, "failed", str(error))
    return limits_status_of(limits, spent, pause)


def limits_status_of(limits: UsageLimits, spent: Spent, pause: Pause | None) -> ComponentStatus:
    """Return the status for given limits, use and pause."""
    if pause is not None:
        since = pause.since.strftime("%Y-%m-%d %H:%M UTC")
        reason = clip(pause.reason, _STATUS_REASON_CHARACTERS).rstrip(".")
        detail = f"paused by {short_actor_name(pause.by)} since {since}: {reason}."
        return ComponentStatus(
            _COMPONENT_NAME, "paused", detail, "Answer again: python -m bot resume"
        )
    used_up = "; ".join(_used_up(limits, spent))
    if used_up:
        cure = "It starts anew at midnight UTC. Allow more: docs/limits.md"
        return ComponentStatus(_COMPONENT_NAME, "limited", f"used up: {used_up}.", cure)
    listed = "; ".join(_configured_limits(limits))
    if not listed:
        return ComponentStatus(
            _COMPONENT_NAME,
            "absent",
            "nothing is limited.",
            "Set a rate or a budget: docs/limits.md",
        )
    return ComponentStatus(_COMPONENT_NAME, "ready", listed)


def _used_up(limits: UsageLimits, spent: Spent) -> Iterator[str]:
    if 0 < limits.tokens <= spent.tokens:
        yield f"{spent.tokens:,} of {limits.tokens:,} tokens today"
    if 0 < limits.usd <= spent.usd:
        yield f"{spent.usd:.2f} of {limits.usd:.2f} USD today"


def _configured_limits(limits: UsageLimits) -> Iterator[str]:
    if limits.per_user:
        yield f"{limits.per_user} messages a minute from one person"
    if limits.per_channel:
        yield f"{limits.per_channel} in one channel"
    if limits.tokens:
        yield f"{limits.tokens:,} tokens a day"
    if limits.usd:
        yield f"{limits.usd:.2f} USD a day"
    if limits.tokens_per_user:
        yield f"{limits.tokens_per_user:,} tokens a day for one person"
