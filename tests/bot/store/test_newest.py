"""What a person asked last in a channel, for commands that name no message."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import insert, text

from bot.domain.messages import Message, Person, Thread
from bot.store import queries
from bot.store.database import Store
from bot.store.tables import InteractionRow
from tests.bot.fakes import replied
from tests.bot.recorded import answered
from tests.bot.store.filled import interaction_rows
from tests.builders import message


def asked(name: str, *, person: str = "anna", channel: str = "C1", thread: str = "t1") -> Message:
    made = message(name, message_id=name, platform="slack", channel=channel, thread=thread)
    return replace(made, author=Person(person))


async def newest(store: Store, channel: str = "C1", person: str = "anna") -> str | None:
    found = await store.interactions.newest_of("default", "slack", channel, person)
    return None if found is None else found.message.text


async def test_it_is_the_last_that_is_answered_in_whichever_thread(store: Store) -> None:
    await answered(store, asked("first"), "one")
    await answered(store, asked("second", thread="t2"), "two")
    await store.work.open(asked("at work"), "me")

    assert await newest(store) == "second"


async def test_what_was_withdrawn_gives_way_to_what_came_before(store: Store) -> None:
    await answered(store, asked("first"), "one")
    await answered(store, asked("second"), "two")
    await store.work.cancel(asked("second").interaction_id)

    assert await newest(store) == "first"


async def test_what_was_only_overheard_counts(store: Store) -> None:
    await answered(store, asked("first"), "one")
    await answered(store, asked("overheard"), replace(replied("two"), silent=True))

    assert await newest(store) == "overheard"


@pytest.mark.parametrize(
    "elsewhere",
    [
        asked("x", person="ben"),
        asked("x", channel="C2"),
        replace(asked("x"), thread=Thread("teams", "default", "C1", "t1")),
        replace(asked("x"), thread=Thread("slack", "other", "C1", "t1")),
    ],
    ids=["another person", "another channel", "another platform", "another tenant"],
)
async def test_what_is_elsewhere_is_never_it(store: Store, elsewhere: Message) -> None:
    await answered(store, elsewhere, "not for here")

    assert await newest(store) is None

    await answered(store, asked("own"), "mine")
    assert await newest(store) == "own"


async def test_a_name_that_the_record_cannot_hold_is_nobodys(store: Store) -> None:
    await answered(store, asked("own"), "mine")

    assert await newest(store, person="an\x00na") is None
    assert await newest(store, channel="C1\ud800") is None


async def test_it_is_found_by_an_index_however_busy_the_channel_is(
    store: Store, database: str
) -> None:
    await _fill(store)
    statement = queries.select_newest_of(Thread("slack", "default", "C1", ""), "p7")

    async with store.transactions.reading() as connection:
        explain = "EXPLAIN QUERY PLAN" if database == "sqlite" else "EXPLAIN"
        compiled = statement.compile(
            dialect=connection.dialect, compile_kwargs={"literal_binds": True}
        )
        rows = await connection.execute(text(f"{explain} {compiled}".replace(":", r"\:")))
        plan = "\n".join(str(row) for row in rows)

    assert "ix_interactions_person" in plan
    assert database == "postgresql" or "TEMP B-TREE" not in plan


async def _fill(store: Store) -> None:
    """Have two hundred people ask ten questions each in one channel."""
    (values,) = (row for table, row in interaction_rows("q") if table is InteractionRow)
    rows = [
        {**values, "id": f"{person}-{number}", "person": f"p{person}", "channel": "slack:C1"}
        for person in range(200)
        for number in range(10)
    ]
    async with store.transactions.writing() as connection:
        await connection.execute(insert(InteractionRow), rows)
        await connection.execute(text("ANALYZE"))
