"""Sums of calls, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from bot.domain.record_reports import Dimension, Span, UsageSum
from bot.store.database import Store
from rag.types import ModelCall
from tests.bot.fakes import replied
from tests.bot.store.filled import add_usage
from tests.builders import NOON, message

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
    asked = message("hi")
    opened = await store.work.open(asked, "me")
    calls = (
        ModelCall("answer", "small", "answer@1", 70, 5, 1.0, cost_micro_usd=1500),
        ModelCall("rewrite", "small", "rewrite@1", 30, 5, 1.0),
    )
    outcome = replied("hello")
    await store.work.close(
        opened, replace(outcome, trace=replace(outcome.trace, calls=calls)), last=True
    )
    now = datetime.now(UTC)

    (summed,) = await store.usage.sums(Span(now - timedelta(1), now + timedelta(1)), "person")

    assert summed == UsageSum("anna", 2, 100, 10, 0.0015, unpriced_calls=1)
