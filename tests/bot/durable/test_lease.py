from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bot.domain.errors import StoreUnavailable
from bot.inbox.heartbeat import Lease


@dataclass
class Clock:
    """A monotonic clock that is set by hand."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Replicas:
    """Notes what is asked of the record; each write takes some seconds."""

    clock: Clock
    takes: float = 0.0
    away: bool = False
    asked: list[str] = field(default_factory=list)

    async def prolong(self, replica: str, *, seconds: float) -> None:
        self.clock.now += self.takes
        if self.away:
            raise StoreUnavailable("The server is away.")
        self.asked.append(f"prolong {replica} {seconds:g}")

    async def release(self, replica: str) -> None:
        self.asked.append(f"release {replica}")

    async def alone(self, replica: str) -> None:
        self.asked.append(f"alone {replica}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("bot.inbox.heartbeat.time", made)
    return made


async def test_it_holds_until_shortly_before_others_may_take_over(clock: Clock) -> None:
    lease = Lease(Replicas(clock), "me", alone=False, seconds=12)
    assert not lease.holds()

    await lease.prolong()

    clock.now += 9.9
    assert lease.holds()
    clock.now += 0.1
    assert not lease.holds()


async def test_it_counts_from_before_it_was_asked_for(clock: Clock) -> None:
    lease = Lease(Replicas(clock, takes=9.0), "me", alone=False, seconds=12)

    await lease.prolong()

    clock.now += 0.9
    assert lease.holds()
    clock.now += 0.2
    assert not lease.holds()


async def test_a_record_that_is_away_leaves_it_as_it_was(clock: Clock) -> None:
    replicas = Replicas(clock)
    lease = Lease(replicas, "me", alone=False, seconds=12)
    await lease.prolong()
    replicas.away = True
    clock.now += 5

    with pytest.raises(StoreUnavailable):
        await lease.prolong()

    assert lease.holds()
    clock.now += 5
    assert not lease.holds()


async def test_what_is_released_holds_no_more(clock: Clock) -> None:
    replicas = Replicas(clock)
    lease = Lease(replicas, "me", alone=False)
    await lease.prolong()

    await lease.release()

    assert not lease.holds()
    assert replicas.asked == ["prolong me 12", "release me"]


async def test_where_nobody_else_can_be_it_always_holds_and_ends_all_others(clock: Clock) -> None:
    replicas = Replicas(clock)
    lease = Lease(replicas, "me", alone=True)
    assert lease.holds()

    await lease.prolong()

    assert replicas.asked == ["alone me", "prolong me 12"]
    clock.now += 1e6
    assert lease.holds()
