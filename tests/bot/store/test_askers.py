"""Who asked lately, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import update

from bot.domain.messages import Message, Person
from bot.store.database import Store
from bot.store.tables import InteractionRow
from tests.builders import NOON, message

MONTH = timedelta(days=30)


def asked(number: int, person: str, email: str | None) -> Message:
    made = message("vpn?", message_id=f"m{number}")
    return replace(made, author=Person(person, email=email))


async def keep(store: Store, *messages: Message) -> None:
    for each in messages:
        await store.work.open(each, "test")


async def test_everybody_who_asked_is_there_once_newest_first(store: Store) -> None:
    await keep(
        store,
        asked(1, "U1", "ann@acme.example"),
        asked(2, "U2", "bob@acme.example"),
        asked(3, "U1", "ann@acme.example"),
        asked(4, "oidc-1", "Bob@acme.example"),
        asked(5, "U3", None),
    )
    since = NOON - MONTH

    found = await store.askers.emails("default", since, 10)

    assert found == ["bob@acme.example", "ann@acme.example"]
    assert await store.askers.emails("default", since, 2) == ["bob@acme.example"]
    assert await store.askers.emails("other", since, 10) == []


async def test_who_asked_before_is_left_out(store: Store) -> None:
    await keep(store, asked(1, "U1", "ann@acme.example"))
    number, moment = InteractionRow.number, NOON - timedelta(days=31)
    async with store.transactions.writing() as connection:
        await connection.execute(
            update(InteractionRow).where(number == 1).values(created_at=moment)
        )

    assert await store.askers.emails("default", NOON - MONTH, 10) == []


async def test_who_withdrew_all_they_asked_is_not_counted(store: Store) -> None:
    gone = asked(1, "U1", "ann@acme.example")
    await keep(store, gone)
    await store.work.cancel(gone.interaction_id)

    assert await store.askers.emails("default", NOON - MONTH, 10) == []
