"""Count arrivals and spending in memory, in the plainest way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.limit_reports import AskerNotices, RefusalLog
from bot.answering.limits import LimitChecks
from bot.domain.interactions import Interaction
from bot.domain.messages import InteractionId, Message, Person, Policy, Thread
from bot.domain.usage import Arrival, Pause, RecentUse, Spent, UsageLimits
from rag.types import Turn
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON, message


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: when, whose, and what it took; ``usd`` None is a price not known."""

    tenant: str
    person: str
    at: datetime
    tokens: int
    usd: float | None


class Ledger:
    """Implements UsageCounts; keeps a pause."""

    def __init__(self) -> None:
        self._arrived: dict[InteractionId, tuple[str, Arrival]] = {}
        self._calls: list[Call] = []
        self.pause: Pause | None = None

    def arrive(
        self,
        seconds: float = 0.0,
        text: str = "How do I book leave?",
        *,
        person: str = "anna",
        channel: str = "C1",
        tenant: str = "default",
        private: bool = False,
    ) -> Message:
        """Record a message some seconds after noon and return it."""
        number = len(self._arrived) + 1
        asked = Message(
            id=f"m{number}",
            thread=Thread("slack", tenant, channel, "t1"),
            author=Person(person),
            text=text,
            received_at=NOON + timedelta(seconds=seconds),
            private=private,
        )
        arrival = Arrival(number, asked.received_at, person, f"slack:{channel}")
        self._arrived[asked.interaction_id] = tenant, arrival
        return asked

    def spend(
        self,
        tokens: int,
        usd: float | None = None,
        *,
        person: str = "anna",
        tenant: str = "default",
        hours: float = -1.0,
    ) -> None:
        """Record a model call some hours from noon."""
        self._calls.append(Call(tenant, person, NOON + timedelta(hours=hours), tokens, usd))

    async def recent(
        self, message: Message, within: timedelta, limits: UsageLimits
    ) -> RecentUse | None:
        if message.interaction_id not in self._arrived:
            return None
        tenant, arrival = self._arrived[message.interaction_id]
        near = self._near(tenant, arrival, within)
        own = [other.at for other in near if other.person == arrival.person]
        here = [other for other in near if other.channel == arrival.channel]
        seen: dict[str, int] = {}
        counted = []
        for other in here:
            seen[other.person] = seen.get(other.person, 0) + 1
            if not limits.per_user or seen[other.person] <= limits.per_user:
                counted.append(other.at)
        return RecentUse(arrival, own[: limits.per_user], counted[: limits.per_channel])

    async def bot_turns(self, thread: Thread, arrival: Arrival, most: int) -> int:
        return 0

    async def spent(
        self, tenant: str, since: datetime, before: datetime, person: str | None = None
    ) -> Spent:
        total = Spent()
        for call in self._calls:
            whose = call.tenant == tenant and person in {None, call.person}
            if whose and since <= call.at < before:
                total = replace(
                    total,
                    tokens=total.tokens + call.tokens,
                    usd=total.usd + (call.usd or 0.0),
                    unpriced=total.unpriced + (call.usd is None),
                )
        return total

    async def current(self, tenant: str) -> Pause | None:
        return self.pause

    def _near(self, tenant: str, arrival: Arrival, within: timedelta) -> list[Arrival]:
        near = [
            other
            for whose, other in self._arrived.values()
            if whose == tenant
            and other.number < arrival.number
            and abs(other.at - arrival.at) < within
        ]
        return sorted(near, key=lambda other: (other.at, other.number), reverse=True)


class Door:
    """Admits everyone with a given history within some limits; counts how often it is read."""

    def __init__(self, *history: Turn) -> None:
        turns = zip(history[::2], history[1::2], strict=True)
        self._exchanges = [_exchange(asked.text, answered.text) for asked, answered in turns]
        self.asked = 0
        self.policy = Policy()

    def within(self, limits: LimitChecks) -> Admission:
        """Return an admission that reads nothing but the history and the policy."""
        return Admission(self, VouchedDirectory(), self.policy, self, limits=limits)  # type: ignore[arg-type]  # only what it reads

    async def of(self, tenant: str, channel: str) -> Policy:
        return self.policy

    async def history(self, thread: Thread, before: Message, limit: int) -> Sequence[Interaction]:
        self.asked += 1
        return self._exchanges


def _exchange(asked: str, answered: str) -> Interaction:
    said = replace(message(asked, message_id="m0"), author=Person("anna"))
    outcome = generic_outcome(answered)
    return Interaction(said.interaction_id, said, "done", said.received_at, outcome)


def limit_checks(
    ledger: Ledger, limits: UsageLimits, notices: AskerNotices | None = None
) -> LimitChecks:
    """Return checks that count in a ledger."""
    return LimitChecks(
        limits, use=ledger, current_pause=ledger.current, log=RefusalLog(), notices=notices
    )
