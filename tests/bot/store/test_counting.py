from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Select
from sqlalchemy.dialects import sqlite

from bot.answering.limit_notices import RefusalLog
from bot.answering.limits import WINDOW, LimitedAdmission
from bot.domain.messages import Inquiry, Message
from bot.domain.usage import Arrival, Spent, UsageLimits
from bot.store import limits
from bot.store.database import Store, open_store, sqlite_url
from bot.store.rows import Rows
from tests.bot.ledger import Door, Ledger
from tests.bot.store.arrivals import spend, write
from tests.bot.store.filled import add_escalation, add_interaction
from tests.builders import NOON
from tests.builders import message as said

MIDNIGHT = NOON - timedelta(hours=12)
HERE = Arrival(10**6, NOON, "anna", "slack:C1")


async def test_unsettled_escalations_are_counted_by_state_in_their_tenant(store: Store) -> None:
    states = ("open", "open", "claimed", "answered", "reopened", "resolved", "declined")
    for number, state in enumerate(states):
        await add_interaction(store, f"i{number}")
        await add_escalation(store, f"i{number}", state=state)

    counted = await store.counting.waiting_cases("default")

    assert counted == {"open": 2, "claimed": 1, "answered": 1, "reopened": 1}
    assert await store.counting.waiting_cases("other") == {}


def chance(seed: int) -> tuple[Ledger, list[Message]]:
    """Arrivals of three people in two channels and two tenants, clocks out of step."""
    drawn, ledger = Random(seed), Ledger()  # noqa: S311 - repeatable, not secret
    asked = [
        ledger.arrive(
            second / 4 + drawn.uniform(-20, 20),
            person=drawn.choice(["anna", "ben", "Zoë 🔑"]),
            channel=drawn.choice(["C1", "C2"]),
            tenant=drawn.choice(["default", "default", "other"]),
        )
        for second in range(120)
    ]
    return ledger, asked


@pytest.mark.parametrize("seed", [1, 2])
async def test_the_record_counts_as_the_plainest_way_does(store: Store, seed: int) -> None:
    ledger, asked = chance(seed)
    await write(store, *asked)

    for message in asked[::3]:
        arrival = await ledger.arrival(message.interaction_id)
        assert arrival is not None
        assert await store.counting.arrival(message.interaction_id) == arrival
        tenant = message.thread.tenant
        for most in (1, 7, 1000):
            counted = await store.counting.by_person(tenant, arrival, WINDOW, most)
            assert counted == await ledger.by_person(tenant, arrival, WINDOW, most)
        for most, each in ((1000, 0), (1000, 2), (3, 2)):
            counted = await store.counting.in_channel(tenant, arrival, WINDOW, most, each)
            assert counted == await ledger.in_channel(tenant, arrival, WINDOW, most, each)


async def test_what_was_overheard_and_left_alone_takes_nothing_from_who_asks(store: Store) -> None:
    kinds = (("RAG", False), ("SILENT", True), ("SILENT", False))
    for number, (kind, overheard) in enumerate(kinds):
        at = NOON - timedelta(seconds=number + 1)
        spoken = Rows().message(replace(said('"overheard": true?'), overheard=overheard))
        where = {"person": "anna", "channel": "slack:C1", "message": spoken}
        await add_interaction(store, f"i{number}", at=at, answer_type=kind, **where)
    overhearing = replace(HERE, overheard=True)

    for arrival, counted in ((HERE, 2), (overhearing, 3)):
        by_person = await store.counting.by_person("default", arrival, WINDOW, 9)
        in_channel = await store.counting.in_channel("default", arrival, WINDOW, 9, 0)
        assert (len(by_person), len(in_channel)) == (counted, counted)


async def test_the_record_and_the_plainest_way_let_the_same_messages_in(store: Store) -> None:
    ledger, asked = chance(3)
    await write(store, *asked)
    limits = UsageLimits(per_user=4, per_channel=7)
    by_record = LimitedAdmission(
        Door(), use=store.counting, pauses=store.pauses, limits=limits, notices=RefusalLog()
    )
    by_ledger = LimitedAdmission(
        Door(), use=ledger, pauses=ledger, limits=limits, notices=RefusalLog()
    )
    decided = [await by_record.admit(message) for message in asked]

    assert decided == [await by_ledger.admit(message) for message in asked]
    assert {isinstance(each, Inquiry) for each in decided} == {True, False}


async def test_a_window_is_open_at_both_ends(store: Store) -> None:
    ledger = Ledger()
    asked = [ledger.arrive(second) for second in (-60, -59.999, 59.999, 60)]
    await write(store, *asked)

    counted = await store.counting.by_person("default", HERE, WINDOW, 10)
    assert counted == [asked[2].received_at, asked[1].received_at]


async def test_a_message_that_was_never_recorded_has_no_arrival(store: Store) -> None:
    assert await store.counting.arrival("nothing") is None


async def test_a_day_is_summed_from_its_beginning_up_to_a_moment(store: Store) -> None:
    moments: list[tuple[datetime, tuple[int, int], float | None]] = [
        (MIDNIGHT - timedelta(microseconds=1), (1, 1), 9.0),
        (MIDNIGHT, (100, 20), 0.25),
        (NOON - timedelta(microseconds=1), (300, 40), None),
        (NOON, (5000, 5000), 9.0),
    ]
    for number, (at, tokens, usd) in enumerate(moments):
        await spend(store, number, at, tokens, usd)

    assert await store.counting.spent("default", MIDNIGHT, NOON) == Spent(460, 0.25, 1)


async def test_spending_is_summed_for_one_tenant_and_for_one_person(store: Store) -> None:
    await spend(store, 1, MIDNIGHT, (1, 0), 0.5)
    await spend(store, 2, MIDNIGHT, (10, 0), 0.5, person="ben")
    await spend(store, 3, MIDNIGHT, (100, 0), 0.5, tenant="other")

    assert (await store.counting.spent("default", MIDNIGHT, NOON)).tokens == 11
    assert (await store.counting.spent("default", MIDNIGHT, NOON, "anna")).tokens == 1
    assert await store.counting.spent("nobody", MIDNIGHT, NOON) == Spent()


PLANS = {
    "ix_interactions_person": limits.select_arrivals_of_person("default", HERE, WINDOW, 10),
    "ix_interactions_channel": limits.select_arrivals_in_channel("default", HERE, WINDOW, 60, 10),
    "ix_usage_at": limits.select_spent("default", MIDNIGHT, NOON, "anna"),
}


@pytest.mark.parametrize("index", PLANS)
async def test_counting_reads_an_index_and_never_a_whole_table(index: str, tmp_path: Path) -> None:
    plan = await plan_of(PLANS[index], tmp_path)

    assert [step for step in plan if step.startswith("SEARCH") and f"INDEX {index} (" in step]
    assert [step for step in plan if step in {"SCAN interactions", "SCAN usage"}] == []


async def plan_of(statement: Select[*tuple[Any, ...]], data_dir: Path) -> list[str]:
    written = statement.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    store = await open_store(sqlite_url(data_dir))
    try:
        async with store.transactions.reading() as connection:
            steps = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {written}")
            return [step.detail for step in steps]
    finally:
        await store.close()
