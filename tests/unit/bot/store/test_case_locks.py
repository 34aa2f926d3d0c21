"""Tests of what is done to cases at once, by several servers on PostgreSQL: all of it happens."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import Actor, Case, Step
from bot.domain.errors import ActRefused
from bot.domain.messages import InteractionId
from bot.escalations.lifecycle import ReminderSchedule
from bot.store.connections import Transactions
from bot.store.database import Store, unopened
from bot.store.queries import select_interaction_for_update
from tests.sweeps.sizes import sizes
from tests.unit.bot.store.test_joined_cases import CLARA, case, hand_over, history
from tests.unit.bot.store.test_joined_cases import asked_by as asked_the_same_by

SCHEDULE = ReminderSchedule(joins_within=timedelta(days=7))
WAITING = text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


@pytest.fixture
def database() -> str:
    """On SQLite, transactions follow one another."""
    return "postgresql"


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    opened = unopened(url, SCHEDULE)
    yield opened
    await opened.close()


@pytest.fixture
async def transactions(url: str) -> AsyncIterator[Transactions]:
    opened = Transactions(url)
    yield opened
    await opened.close()


async def ask(store: Store, *names: str) -> list[InteractionId]:
    """Have people ask different questions; return their cases in the order of their ids."""
    asked = [asked_the_same_by(each, f"How does {each} extend a permit?") for each in names]
    return sorted([await hand_over(store, each) for each in asked])


@asynccontextmanager
async def held(transactions: Transactions, case_id: str) -> AsyncIterator[None]:
    """Hold the lock of a case."""
    async with transactions.writing() as connection:
        await connection.execute(*select_interaction_for_update(case_id))
        yield


async def begun(
    transactions: Transactions, *changes: Awaitable[Case]
) -> Sequence[asyncio.Task[Case]]:
    """Start changes, one after the other, each of which comes to wait for a lock."""
    tasks: list[asyncio.Task[Case]] = []
    for change in changes:
        tasks.append(asyncio.ensure_future(change))
        async with asyncio.timeout(60):
            while await waiting(transactions) < len(tasks):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.005)
    return tasks


async def waiting(transactions: Transactions) -> int:
    async with transactions.reading() as connection:
        return await connection.scalar(WAITING) or 0


async def test_a_join_again_and_an_act_on_the_lead_both_end(
    store: Store, transactions: Transactions
) -> None:
    follower, lead = await ask(store, "anna", "ben")
    await store.escalations.join("default", follower, lead, CLARA)

    async with held(transactions, follower):
        tasks = await begun(
            transactions,
            store.escalations.join("default", follower, lead, CLARA),
            store.escalations.act("default", lead, "claim", CLARA),
        )
    again, claimed = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(again, ActRefused)
    assert isinstance(claimed, Case)
    assert await history(store, follower) == ["open", "join", "claim"]


async def test_an_act_on_a_case_that_is_joining_reaches_its_lead(
    store: Store, transactions: Transactions
) -> None:
    joins, lead = await ask(store, "anna", "ben")

    async with held(transactions, joins):
        tasks = await begun(
            transactions,
            store.escalations.join("default", joins, lead, CLARA),
            store.escalations.act("default", joins, "claim", CLARA),
        )
    await asyncio.gather(*tasks)

    assert (await case(store, joins)).joined_to == lead
    assert await history(store, joins) == ["open", "join", "claim"]
    assert await history(store, lead) == ["open", "joined", "claim"]


async def test_a_withdrawal_of_a_case_that_is_joining_leaves_its_lead(
    store: Store, transactions: Transactions
) -> None:
    joins, lead = await ask(store, "anna", "ben")

    async with held(transactions, joins):
        (joining,) = await begun(
            transactions, store.escalations.join("default", joins, lead, CLARA)
        )
        withdrawing = asyncio.ensure_future(store.work.cancel(joins))
        async with asyncio.timeout(60):
            while await waiting(transactions) < 2:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.005)
    await asyncio.gather(joining, withdrawing)

    assert await history(store, lead) == ["open", "joined", "left"]


async def test_a_change_that_is_ended_for_a_deadlock_is_made_once(
    transactions: Transactions,
) -> None:
    async with transactions.writing() as connection:
        await connection.execute(text("CREATE TABLE counts (id INTEGER, n INTEGER)"))
        await connection.execute(text("INSERT INTO counts VALUES (1, 0), (2, 0)"))
    add = text("UPDATE counts SET n = n + 1 WHERE id = :id")
    both_hold_one, tries = asyncio.Barrier(2), Counter[int]()

    def count_in(first: int, second: int) -> Callable[[AsyncConnection], Awaitable[None]]:
        async def count(connection: AsyncConnection) -> None:
            tries[first] += 1
            for each in (first, second):
                await connection.execute(add, {"id": each})
                if tries[first] == 1 and each == first:
                    await both_hold_one.wait()

        return count

    await asyncio.gather(transactions.apply(count_in(1, 2)), transactions.apply(count_in(2, 1)))

    async with transactions.reading() as connection:
        found = (await connection.execute(text("SELECT n FROM counts"))).scalars().all()
    assert list(found) == [2, 2]
    assert max(tries.values()) > 1


Change = tuple[Step, InteractionId, InteractionId]


def changes(ids: Sequence[InteractionId], round_: int) -> Sequence[Change]:
    """Return what is done at once in a round: each case is joined, parted and worked on."""
    others = [*ids[1 + round_ % (len(ids) - 1) :], *ids]
    first: Sequence[Step] = ("note", "join", "split", "join")
    acts = first if round_ % 2 else ("join", "claim", "join", "note")
    pairs = zip(ids, others, strict=False)
    return [(act, *pair) for pair in pairs for act in acts if pair[0] != pair[1]]


async def is_done(store: Store, change: Change, expert: Actor) -> bool:
    """Make a change, as often as it takes; return whether it was allowed."""
    step, one, other = change
    cases = store.escalations
    try:
        if step == "join":
            await cases.join("default", one, other, expert)
        elif step == "split":
            await cases.split("default", one, expert)
        elif step == "note":
            await cases.act("default", one, "note", expert, "Noted.")
        else:
            await cases.act("default", one, "claim", expert)
    except ActRefused:
        return False
    return True


@sizes("rounds", smoke=4, whole=100)
async def test_of_what_is_done_at_once_to_the_same_cases_nothing_is_lost(
    store: Store, url: str, rounds: int
) -> None:
    ids = await ask(store, *(f"person{number}" for number in range(5)))
    other = unopened(url, SCHEDULE)
    expected: set[str] = set()
    for round_ in range(rounds):
        made = changes(ids, round_)
        experts = [Actor(f"e{round_}.{n}", "Eve", "expert") for n in range(len(made))]
        servers = (store, other) * len(made)
        tries = map(is_done, servers, made, experts)
        done = await asyncio.gather(*tries)
        expected |= {who.id for who, each in zip(experts, done, strict=True) if each}
    await other.close()

    recorded = {each: Counter(await actors(store, each)) for each in ids}
    assert all(count == 1 for found in recorded.values() for count in found.values())
    assert {who for found in recorded.values() for who in found} == expected
    assert len(expected) >= rounds
    leads = {(await case(store, each)).joined_to for each in ids} - {None}
    assert {(await case(store, each)).joined_to for each in leads if each} <= {None}


async def actors(store: Store, case_id: InteractionId) -> list[str]:
    steps = await store.escalations.steps("default", case_id)
    return [step.actor.id for step in steps if step.actor and step.actor.role == "expert"]
