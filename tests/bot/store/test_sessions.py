from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.store.database import Store
from rag.types import EVERYONE, Principal

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
