"""Which recorded answers are given again: saved with the outcome, dropped with what it rests on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import delete

from bot.domain.interactions import CacheUse, Interaction, Outcome, new_feedback
from bot.store.database import Store
from bot.store.tables import InteractionRow, SavedAnswerRow
from tests.fakes.builders import NOON, message
from tests.fakes.desk import ANSWER, TRACE
from tests.fakes.record_rows import count

KEY = "k" * 64
EARLIER = NOON - timedelta(hours=1)


async def record(
    store: Store, number: int = 1, result: str = "saved", at: datetime = NOON
) -> Interaction:
    """Record a question whose answer used the cache."""
    used = CacheUse(KEY, result, at)  # type: ignore[arg-type]  # as tests name it
    opened = await store.work.open(message("VPN?", message_id=f"m{number}"), "me")
    outcome = Outcome(replace(ANSWER, text=f"Answer {number}."), replace(TRACE, cache=used))
    await store.work.close(opened, outcome, last=True)
    return opened


async def text_of_saved(store: Store, since: datetime = EARLIER, key: str = KEY) -> str | None:
    found = await store.saved_answers.find("default", key, since)
    return None if found is None else found.outcome.response.text


async def test_an_answer_is_found_by_its_key_while_it_is_young(store: Store) -> None:
    await record(store)

    found = await store.saved_answers.find("default", KEY, EARLIER)
    assert found is not None
    assert (found.outcome.response.text, found.answered_at) == ("Answer 1.", NOON)
    assert await text_of_saved(store, since=NOON) is None
    assert await text_of_saved(store, key="other") is None
    assert await store.saved_answers.find("other", KEY, EARLIER) is None


async def test_the_latest_answer_under_a_key_is_the_one_that_is_saved(store: Store) -> None:
    await record(store, 1)
    await record(store, 2, at=NOON + timedelta(minutes=1))

    assert await text_of_saved(store) == "Answer 2."
    assert await count(store, SavedAnswerRow) == 1


@pytest.mark.parametrize("result", ["hit", "miss"])
async def test_only_what_is_for_others_is_saved(store: Store, result: str) -> None:
    await record(store, result=result)

    assert await text_of_saved(store) is None


async def test_a_saved_answer_holds_no_asker_and_no_words() -> None:
    columns = set(SavedAnswerRow.__table__.columns.keys())

    assert columns == {"key", "tenant", "interaction_id", "answered_at"}


@pytest.mark.parametrize("judged", ["saved", "hit"])
async def test_a_thumb_down_on_either_answer_drops_it(store: Store, judged: str) -> None:
    first = await record(store, 1)
    again = await record(store, 2, "hit")
    of = first if judged == "saved" else again
    await store.interactions.rate(new_feedback(of.id, "ben", "down"))

    assert await text_of_saved(store) is None


async def test_a_thumb_up_leaves_it(store: Store) -> None:
    first = await record(store)
    await store.interactions.rate(new_feedback(first.id, "ben", "up"))

    assert await text_of_saved(store) == "Answer 1."


async def _withdraw(store: Store, asked: Interaction) -> None:
    await store.work.cancel(asked.id)


async def _delete(store: Store, asked: Interaction) -> None:
    await store.transactions.execute(delete(InteractionRow).where(InteractionRow.id == asked.id))


async def _expire(store: Store, asked: Interaction) -> None:
    del asked
    await store.retention.sweep(NOON + timedelta(hours=24, seconds=1), 0)


Going: dict[str, Callable[[Store, Interaction], Awaitable[None]]] = {
    "withdrawal": _withdraw,
    "deletion": _delete,
    "a day": _expire,
}


@pytest.mark.parametrize("go", Going.values(), ids=Going.keys())
async def test_it_goes_with_its_question_and_after_a_day(
    store: Store, go: Callable[[Store, Interaction], Awaitable[None]]
) -> None:
    first = await record(store)
    await go(store, first)

    assert await count(store, SavedAnswerRow) == 0


async def test_withdrawing_a_question_that_got_it_leaves_it(store: Store) -> None:
    await record(store, 1)
    await store.work.cancel((await record(store, 2, "hit")).id)

    assert await text_of_saved(store) == "Answer 1."
