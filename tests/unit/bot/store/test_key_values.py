"""Tests of notes and of sign-in sessions in the record."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.store.database import Store
from rag.types import EVERYONE, Principal
from tests.fakes.builders import message

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=12)
PRINCIPALS = frozenset({EVERYONE, Principal("group:hr")})
ANNA = SignedIn("oidc", "expert", Person("oidc-1", "Anna", "anna@acme.example", PRINCIPALS))
ID = "a" * 64


async def test_who_is_signed_in_is_found_as_they_were(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    await store.sessions.begin("acme", "b" * 64, SignedIn("token", "admin"), NOON, LATER)

    assert await store.sessions.find("acme", ID, NOON) == ANNA
    assert await store.sessions.find("acme", "b" * 64, NOON) == SignedIn("token", "admin")


async def test_a_session_is_of_one_tenant_and_of_its_time(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)

    assert await store.sessions.find("other", ID, NOON) is None
    assert await store.sessions.find("acme", "c" * 64, NOON) is None
    assert await store.sessions.find("acme", ID, LATER - timedelta(seconds=1)) == ANNA
    assert await store.sessions.find("acme", ID, LATER) is None


async def test_what_is_ended_is_gone(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    await store.sessions.end("other", ID)
    assert await store.sessions.find("acme", ID, NOON) == ANNA
    await store.sessions.end("acme", ID)
    await store.sessions.end("acme", ID)

    assert await store.sessions.find("acme", ID, NOON) is None


async def test_the_sweep_forgets_what_is_over(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    await store.sessions.begin("acme", "b" * 64, ANNA, NOON, LATER + timedelta(hours=1))

    assert await store.sessions.sweep(LATER) == 1
    assert await store.sessions.sweep(LATER) == 0
    assert await store.sessions.find("acme", "b" * 64, LATER) == ANNA


async def test_what_another_version_wrote_is_nobody(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql("""UPDATE sessions SET person = '{"format": 99}'""")

    assert await store.sessions.find("acme", ID, NOON) is None


async def test_a_name_of_odd_characters_is_kept_as_well_as_can_be(store: Store) -> None:
    odd = SignedIn("oidc", "asker", Person("oidc-2", name="A\x00\ud800 'é"))
    await store.sessions.begin("acme", ID, odd, NOON, LATER)

    found = await store.sessions.find("acme", ID, NOON)

    assert found is not None
    assert found.person is not None
    assert found.person.name.endswith(" 'é")


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
