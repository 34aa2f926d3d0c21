"""Tests of sign-in sessions in the record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.store.database import Store
from bot.store.sessions import StoredSession
from rag.types import EVERYONE, Principal

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=12)
PRINCIPALS = frozenset({EVERYONE, Principal("group:hr")})
ANNA = SignedIn("oidc", "expert", Person("oidc-1", "Anna", "anna@acme.example", PRINCIPALS))
ID = "a" * 64


async def person(store: Store, tenant: str, session_id: str, now: datetime) -> SignedIn | None:
    """Return whose session it is."""
    found = await store.sessions.find(tenant, session_id, now)
    return None if found is None else found.signed_in


async def test_who_is_signed_in_is_found_as_they_were(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    await store.sessions.begin("acme", "b" * 64, SignedIn("token", "admin"), NOON, LATER)

    assert await person(store, "acme", ID, NOON) == ANNA
    assert await person(store, "acme", "b" * 64, NOON) == SignedIn("token", "admin")


async def test_a_session_is_of_one_tenant_and_of_its_time(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)

    assert await store.sessions.find("other", ID, NOON) is None
    assert await store.sessions.find("acme", "c" * 64, NOON) is None
    assert await person(store, "acme", ID, LATER - timedelta(seconds=1)) == ANNA
    assert await store.sessions.find("acme", ID, LATER) is None


async def test_what_is_ended_is_gone(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    await store.sessions.end("other", ID)
    assert await person(store, "acme", ID, NOON) == ANNA
    await store.sessions.end("acme", ID)
    await store.sessions.end("acme", ID)

    assert await store.sessions.find("acme", ID, NOON) is None


async def test_the_sweep_forgets_what_is_over(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    await store.sessions.begin("acme", "b" * 64, ANNA, NOON, LATER + timedelta(hours=1))

    assert await store.sessions.sweep(LATER) == 1
    assert await store.sessions.sweep(LATER) == 0
    assert await person(store, "acme", "b" * 64, LATER) == ANNA


async def test_what_another_version_wrote_is_nobody(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql("""UPDATE sessions SET person = '{"format": 99}'""")

    assert await store.sessions.find("acme", ID, NOON) is None


async def test_a_name_of_odd_characters_is_kept_as_well_as_can_be(store: Store) -> None:
    odd = SignedIn("oidc", "asker", Person("oidc-2", name="A\x00\ud800 'é"))
    await store.sessions.begin("acme", ID, odd, NOON, LATER)

    found = await person(store, "acme", ID, NOON)

    assert found is not None
    assert found.person is not None
    assert found.person.name.endswith(" 'é")


async def test_one_process_at_a_time_asks_about_a_session(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)
    minute = timedelta(minutes=1)

    assert await store.sessions.claim("acme", ID, NOON, NOON + minute)
    assert not await store.sessions.claim("acme", ID, NOON, NOON + minute)
    assert await store.sessions.claim("acme", ID, NOON + minute, NOON + 2 * minute)
    assert not await store.sessions.claim("other", ID, NOON + 2 * minute, LATER)


async def test_a_confirmed_session_may_be_asked_about_again(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER, refresh_token="old")
    await store.sessions.claim("acme", ID, NOON, LATER)
    confirmed = StoredSession(SignedIn("oidc", "asker", ANNA.person), NOON, "new")

    assert await store.sessions.confirm("acme", ID, confirmed)
    assert await store.sessions.find("acme", ID, NOON) == confirmed
    assert await store.sessions.claim("acme", ID, NOON, LATER)


async def test_an_ended_session_is_not_confirmed(store: Store) -> None:
    assert not await store.sessions.confirm("acme", ID, StoredSession(ANNA, NOON))
    assert await store.sessions.find("acme", ID, NOON) is None


async def test_all_sessions_of_one_person_end_and_no_others(store: Store) -> None:
    ben = SignedIn("oidc", "asker", Person("oidc-2", "Ben"))
    for name, whose in (("a", ANNA), ("b", ANNA), ("c", ben), ("d", SignedIn("token", "admin"))):
        await store.sessions.begin("acme", name * 64, whose, NOON, LATER)
    await store.sessions.begin("other", "e" * 64, ANNA, NOON, LATER)

    assert await store.sessions.end_all("acme", "oidc-1", actor="board:Cleo") == 2
    assert await store.sessions.end_all("acme", "oidc-1", actor="board:Cleo") == 0
    left = [(one.person_id, one.count) for one in await store.sessions.people("acme", NOON)]
    assert left == [("admin", 1), ("oidc-2", 1)]
    assert await person(store, "other", "e" * 64, NOON) == ANNA
    (act,) = await store.audits.newest("acme", 5)
    assert (act.actor, act.act, act.subject, act.detail) == (
        "board:Cleo",
        "end sessions",
        "oidc-1",
        "2",
    )


async def test_people_are_those_whose_sessions_are_open(store: Store) -> None:
    await store.sessions.begin("acme", ID, ANNA, NOON, LATER)

    (one,) = await store.sessions.people("acme", NOON)
    assert (one.person_id, one.signed_in, one.count, one.newest) == ("oidc-1", ANNA, 1, NOON)
    assert await store.sessions.people("acme", LATER) == []
