"""Tests of the counts behind limits, of usage and of the pause, in the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Select, select
from sqlalchemy.dialects import sqlite

from bot.answering.limit_reports import RefusalLog
from bot.answering.limits import WINDOW, LimitChecks
from bot.domain.messages import Inquiry, Message
from bot.domain.record_reports import Dimension, Span, UsageSum
from bot.domain.usage import Arrival, Spent, UsageLimits
from bot.store import limits
from bot.store.database import Store, open_store, sqlite_url
from bot.store.rows import Rows
from bot.store.tables import AuditRow
from rag.types import ModelCall
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON
from tests.fakes.builders import message as said
from tests.fakes.record_rows import (
    add_escalation,
    add_interaction,
    add_usage,
    write_arrival,
    write_model_call,
)
from tests.fakes.usage_ledger import Door, Ledger, limit_checks

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
    await write_arrival(store, *asked)

    for message in asked[::3]:
        for most, in_channel in ((1, 1000), (7, 3), (1000, 1000), (0, 1000), (2, 0)):
            limits = UsageLimits(per_user=most, per_channel=in_channel)
            counted = await store.counting.recent(message, WINDOW, limits)
            assert counted == await ledger.recent(message, WINDOW, limits)


async def test_what_was_overheard_and_left_alone_takes_nothing_from_who_asks(store: Store) -> None:
    kinds = (("RAG", False), ("SILENT", True), ("SILENT", False))
    for number, (kind, overheard) in enumerate(kinds):
        at = NOON - timedelta(seconds=number + 1)
        spoken = Rows().message(replace(said('"overheard": true?'), overheard=overheard))
        where = {"person": "anna", "channel": "slack:C1", "message": spoken}
        await add_interaction(store, f"i{number}", at=at, answer_type=kind, **where)
    asked = Ledger().arrive()
    await write_arrival(store, asked)

    for message, counted in ((asked, 2), (replace(asked, overheard=True), 3)):
        recent = await store.counting.recent(message, WINDOW, UsageLimits(9, 9))
        assert recent is not None
        assert (len(recent.by_person), len(recent.in_channel)) == (counted, counted)


async def test_the_record_and_the_plainest_way_let_the_same_messages_in(store: Store) -> None:
    ledger, asked = chance(3)
    await write_arrival(store, *asked)
    limits = UsageLimits(per_user=4, per_channel=7)
    recorded = LimitChecks(
        limits, use=store.counting, current_pause=store.pauses.current, log=RefusalLog()
    )
    by_record = Door().within(recorded)
    by_ledger = Door().within(limit_checks(ledger, limits))
    decided = [await by_record.admit(message) for message in asked]

    assert decided == [await by_ledger.admit(message) for message in asked]
    assert {isinstance(each, Inquiry) for each in decided} == {True, False}


async def test_a_window_is_open_at_both_ends(store: Store) -> None:
    ledger = Ledger()
    *before, last = [ledger.arrive(second) for second in (-60, -59.999, 59.999, 60, 0)]
    await write_arrival(store, *before, last)

    recent = await store.counting.recent(last, WINDOW, UsageLimits(per_user=10))
    assert recent is not None
    assert recent.by_person == [before[2].received_at, before[1].received_at]


async def test_before_a_message_that_is_not_recorded_nothing_counts(store: Store) -> None:
    assert await store.counting.recent(Ledger().arrive(), WINDOW, UsageLimits(9, 9)) is None


async def test_a_day_is_summed_from_its_beginning_up_to_a_moment(store: Store) -> None:
    moments: list[tuple[datetime, tuple[int, int], float | None]] = [
        (MIDNIGHT - timedelta(microseconds=1), (1, 1), 9.0),
        (MIDNIGHT, (100, 20), 0.25),
        (NOON - timedelta(microseconds=1), (300, 40), None),
        (NOON, (5000, 5000), 9.0),
    ]
    for number, (at, tokens, usd) in enumerate(moments):
        await write_model_call(store, number, at, tokens, usd)

    assert await store.counting.spent("default", MIDNIGHT, NOON) == Spent(460, 0.25, 1)


async def test_spending_is_summed_for_one_tenant_and_for_one_person(store: Store) -> None:
    await write_model_call(store, 1, MIDNIGHT, (1, 0), 0.5)
    await write_model_call(store, 2, MIDNIGHT, (10, 0), 0.5, person="ben")
    await write_model_call(store, 3, MIDNIGHT, (100, 0), 0.5, tenant="other")

    assert (await store.counting.spent("default", MIDNIGHT, NOON)).tokens == 11
    assert (await store.counting.spent("default", MIDNIGHT, NOON, "anna")).tokens == 1
    assert await store.counting.spent("nobody", MIDNIGHT, NOON) == Spent()


def filled(query: Select[datetime], values: Mapping[str, object]) -> Select[*tuple[Any, ...]]:
    return query.params(dict(values))


PLANS: dict[str, Select[*tuple[Any, ...]]] = {
    "ix_interactions_person": filled(
        *limits.select_arrivals_of_person("default", HERE, WINDOW, 10)
    ),
    "ix_interactions_channel": filled(
        *limits.select_arrivals_in_channel("default", HERE, WINDOW, 60, 10)
    ),
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


MONTH = Span(NOON - timedelta(days=15), NOON + timedelta(days=15))


async def add_some(store: Store) -> None:
    await add_usage(store, 1)
    await add_usage(store, 2, person="ben", channel="slack:C1", model="large", cost_usd=None)
    await add_usage(store, 3, at=NOON + timedelta(days=1), cost_usd=0.5)
    await add_usage(store, 4, tenant="other", interaction_id="i2")


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("day", {"2026-11-22": 2, "2026-11-23": 1}),
        ("model", {"small": 2, "large": 1}),
        ("channel", {"web:anna": 2, "slack:C1": 1}),
        ("person", {"anna": 2, "ben": 1}),
        ("tenant", {"default": 3}),
    ],
)
async def test_calls_are_counted_by_each_dimension(
    store: Store, by: Dimension, keys: dict[str, int]
) -> None:
    await add_some(store)

    summed = await store.usage.sums(MONTH, by, "default")

    assert {each.key: each.calls for each in summed} == keys
    assert [each.key for each in summed] == list(keys)


async def test_calls_without_a_price_are_counted_apart(store: Store) -> None:
    await add_some(store)

    (summed,) = await store.usage.sums(MONTH, "tenant", "default")

    assert summed == UsageSum("default", 3, 300, 30, 0.75, unpriced_calls=1)


async def test_without_a_tenant_all_are_summed(store: Store) -> None:
    await add_some(store)

    summed = await store.usage.sums(MONTH, "tenant")

    assert [(each.key, each.calls) for each in summed] == [("default", 3), ("other", 1)]


async def test_nothing_used_is_no_row(store: Store) -> None:
    assert await store.usage.sums(MONTH, "day") == []


async def test_the_end_of_a_span_is_left_out_and_its_beginning_is_not(store: Store) -> None:
    await add_usage(store, 1)
    second = timedelta(seconds=1)

    assert await store.usage.sums(Span(NOON, NOON + second), "day")
    assert not await store.usage.sums(Span(NOON - second, NOON), "day")


async def test_a_day_is_one_of_utc_whatever_the_zone_that_was_given(store: Store) -> None:
    kolkata = timezone(timedelta(hours=5, minutes=30))
    await add_usage(store, 1, at=datetime(2026, 11, 22, 4, 0, tzinfo=kolkata))
    span = Span(
        datetime(2026, 11, 22, 3, 59, tzinfo=kolkata), datetime(2026, 11, 22, 4, 1, tzinfo=kolkata)
    )

    (summed,) = await store.usage.sums(span, "day")

    assert summed.key == "2026-11-21"


def test_a_span_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no zone"):
        Span(NOON, datetime(2026, 11, 22))  # noqa: DTZ001 - the lack of it is the point


async def test_sums_do_not_overflow_a_column_of_the_rows(store: Store) -> None:
    most = 2**31 - 1
    for sequence in range(3):
        await add_usage(store, sequence, input_tokens=most, output_tokens=0)

    (summed,) = await store.usage.sums(MONTH, "model")

    assert summed.input_tokens == 3 * most


async def test_what_an_answer_cost_is_summed_from_its_calls(store: Store) -> None:
    asked = said("hi")
    opened = await store.work.open(asked, "me")
    calls = (
        ModelCall("answer", "small", "answer@1", 70, 5, 1.0, cost_micro_usd=1500),
        ModelCall("rewrite", "small", "rewrite@1", 30, 5, 1.0),
    )
    outcome = generic_outcome("hello")
    await store.work.close(
        opened, replace(outcome, trace=replace(outcome.trace, calls=calls)), last=True
    )
    now = datetime.now(UTC)

    (summed,) = await store.usage.sums(Span(now - timedelta(1), now + timedelta(1)), "person")

    assert summed == UsageSum("anna", 2, 100, 10, 0.0015, unpriced_calls=1)


async def acts(store: Store) -> list[tuple[str, str, str, str]]:
    columns = (AuditRow.tenant, AuditRow.actor, AuditRow.act, AuditRow.detail)
    async with store.transactions.reading() as connection:
        rows = await connection.execute(select(*columns).order_by(AuditRow.number))
        return [(row[0], row[1], row[2], row[3]) for row in rows]


async def test_nothing_is_paused_at_first(store: Store) -> None:
    assert await store.pauses.current("default") is None
    assert not await store.pauses.resume("default", "ops")
    assert await acts(store) == []


async def test_a_pause_holds_until_it_is_lifted(store: Store) -> None:
    paused = await store.pauses.pause("default", "We move the wiki", "ops")

    assert await store.pauses.current("default") == paused
    assert (paused.reason, paused.by) == ("We move the wiki", "ops")
    assert abs(datetime.now(UTC) - paused.since) < timedelta(minutes=1)
    assert await store.pauses.resume("default", "anna")
    assert await store.pauses.current("default") is None


async def test_a_pause_is_seen_by_another_process_at_once(store: Store, url: str) -> None:
    other = await open_store(url)
    try:
        before = await other.pauses.current("default")
        paused = await store.pauses.pause("default", "We move the wiki", "ops")

        assert before is None
        assert await other.pauses.current("default") == paused
    finally:
        await other.close()


async def test_pausing_again_changes_the_reason_and_keeps_the_beginning(store: Store) -> None:
    first = await store.pauses.pause("default", "First", "ops")
    second = await store.pauses.pause("default", "Second", "anna")

    assert (second.reason, second.by, second.since) == ("Second", "anna", first.since)
    assert await store.pauses.current("default") == second


async def test_another_tenant_is_not_paused(store: Store) -> None:
    await store.pauses.pause("default", "We move the wiki", "ops")

    assert await store.pauses.current("other") is None
    assert not await store.pauses.resume("other", "ops")
    assert await store.pauses.current("default") is not None


async def test_each_change_is_kept_with_who_made_it(store: Store) -> None:
    await store.pauses.pause("default", "We move \x00 the wiki 🔑", "ops")
    await store.pauses.resume("default", "anna")
    await store.pauses.resume("default", "anna")

    assert await acts(store) == [
        ("default", "ops", "pause", "We move \N{REPLACEMENT CHARACTER} the wiki 🔑"),
        ("default", "anna", "resume", ""),
    ]


async def test_a_pause_whose_audit_fails_is_none(store: Store) -> None:
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql("DROP TABLE audit")
    with pytest.raises(Exception, match="record can't be"):
        await store.pauses.pause("default", "We move the wiki", "ops")

    assert await store.pauses.current("default") is None
