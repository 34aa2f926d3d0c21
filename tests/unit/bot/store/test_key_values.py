"""Tests of notes in the record."""

from __future__ import annotations

import asyncio

from bot.store.database import Store
from tests.fakes.builders import message


async def test_a_note_is_kept_replaced_and_removed(store: Store) -> None:
    assert await store.notes.get("acme", "slack:hello:C1") is None
    await store.notes.put("acme", "slack:hello:C1", "said \x00 \ud800")
    assert await store.notes.get("acme", "slack:hello:C1") == "said \ufffd \ufffd"
    await store.notes.put("acme", "slack:hello:C1", "again")
    assert await store.notes.get("acme", "slack:hello:C1") == "again"
    assert await store.notes.get("other", "slack:hello:C1") is None
    await store.notes.remove("acme", "slack:hello:C1")
    assert await store.notes.get("acme", "slack:hello:C1") is None


async def test_of_many_who_are_first_one_is(store: Store) -> None:
    tries = (store.notes.first("acme", "slack:hello:C1", str(number)) for number in range(20))
    assert sorted(await asyncio.gather(*tries)) == [False] * 19 + [True]


async def test_notes_are_listed_by_the_beginning_of_their_keys(store: Store) -> None:
    for key in ("slack:run:b", "slack:run:a", "slack:RUN:c", "slack:r%n:d", "teams:run:e"):
        await store.notes.put("acme", key, key[-1])
    found = await store.notes.beginning("acme", "slack:run:")
    assert list(found.items()) == [("slack:run:a", "a"), ("slack:run:b", "b")]


async def test_a_note_on_an_interaction_is_kept_with_it(store: Store) -> None:
    kept = await store.work.open(message("vpn?"), "me")
    await store.notes.put("acme", "slack:card:1", "C1:1", interaction_id=kept.id)
    assert await store.notes.get("acme", "slack:card:1") == "C1:1"
