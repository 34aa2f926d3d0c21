"""Count arrivals and spending in memory, in the plainest way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain.messages import Audience, Inquiry, InteractionId, Message, Person, Policy, Thread
from bot.domain.usage import Arrival, Pause, Spent
from rag.types import Turn
from tests.fakes.builders import NOON


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: when, whose, and what it took; ``usd`` None is a price not known."""

    tenant: str
    person: str
    at: datetime
    tokens: int
    usd: float | None


class Ledger:
    """Implements CountsUse and KnowsPause."""

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

    async def arrival(self, interaction_id: str) -> Arrival | None:
        known = self._arrived.get(InteractionId(interaction_id))
        return None if known is None else known[1]

    async def by_person(
        self, tenant: str, arrival: Arrival, within: timedelta, most: int
    ) -> Sequence[datetime]:
        near = self._near(tenant, arrival, within)
        return [other.at for other in near if other.person == arrival.person][:most]

    async def in_channel(
        self, tenant: str, arrival: Arrival, within: timedelta, most: int, each: int
    ) -> Sequence[datetime]:
        here = [
            other
            for other in self._near(tenant, arrival, within)
            if other.channel == arrival.channel
        ]
        seen: dict[str, int] = {}
        counted = []
        for other in here:
            seen[other.person] = seen.get(other.person, 0) + 1
            if not each or seen[other.person] <= each:
                counted.append(other.at)
        return counted[:most]

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
    """Admits everyone with a given history; counts how often it is asked."""

    def __init__(self, *history: Turn) -> None:
        self._history = history
        self.asked = 0
        self.policy = Policy()

    async def admit(self, message: Message) -> Inquiry:
        self.asked += 1
        audience = Audience("channel", message.author.principals)
        return Inquiry(message, self._history, audience, self.policy)
