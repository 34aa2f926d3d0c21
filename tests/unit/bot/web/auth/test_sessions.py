"""Tests of browser sessions, and of asking the issuer again about them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from sqlalchemy import update

from bot.domain.users import SignedIn
from bot.store.connections import Transactions
from bot.store.database import Store
from bot.store.sessions import StoredSessions
from bot.store.tables import SessionRow
from bot.web.auth.code_flow import Vouched
from bot.web.auth.sessions import ASKING_SECONDS, SESSION_SECONDS, Sessions, TokenCipher
from tests.fakes.http_server import PAGE_VIEW, TOKEN, Client, serving, settings_for
from tests.fakes.openid_provider import ANNA, FakeIssuer
from tests.unit.bot.web.auth.conftest import (
    PUBLIC,
    own,
    role,
    settings_with,
    sign_in,
    sign_in_with_token,
)

pytestmark = pytest.mark.attack


class BackdatedSessions(StoredSessions):
    """Keeps sessions as if they had begun some time ago."""

    def __init__(self, transactions: Transactions, ago: timedelta) -> None:
        super().__init__(transactions)
        self._ago = ago

    async def begin(
        self,
        tenant: str,
        session_id: str,
        signed_in: SignedIn,
        now: datetime,
        until: datetime,
        *,
        refresh_token: str = "",
    ) -> None:
        now, until = now - self._ago, until - self._ago
        await super().begin(tenant, session_id, signed_in, now, until, refresh_token=refresh_token)


async def begun(sessions: Sessions) -> str:
    """Return the cookie of a new session."""
    response = web.Response()
    request = make_mocked_request("POST", "/session")
    await sessions.begin(request, response, Vouched(SignedIn("token", "admin")))
    return response.cookies["frontdesk_session"].value


async def test_signing_out_ends_the_session(public: Client) -> None:
    await sign_in_with_token(public)
    ended = await public.post("/session/end", headers=own(public), allow_redirects=False)

    assert (ended.status, ended.headers["Location"]) == (303, "/session")
    assert (await public.get("/openapi.json")).status == 401


async def session_of(client: Client) -> str:
    response = await client.post("/session", json={"token": TOKEN})
    return response.cookies["frontdesk_session"].value


async def status_with(client: Client, session: str) -> int:
    client.session.cookie_jar.clear()
    headers = {"Cookie": f"frontdesk_session={session}"}
    return (await client.get("/openapi.json", headers=headers)).status


async def test_a_forged_session_opens_nothing(public: Client) -> None:
    real = await session_of(public)
    other = "A" if real[0] != "A" else "B"

    assert await status_with(public, real) == 200
    for forged in (other + real[1:], real[:-1], real + "A", "x", "", "' OR 1=1 --", "é" * 43):
        assert await status_with(public, forged) == 401


async def test_the_record_keeps_but_a_hash_of_the_cookie(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        session = await session_of(client)
        async with store.transactions.reading() as connection:
            rows = (await connection.exec_driver_sql("SELECT * FROM sessions")).all()

    assert len(rows) == 1
    assert session not in str(rows)
    assert TOKEN not in str(rows)


async def test_a_session_ends_by_itself(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)
    sessions = Sessions(
        BackdatedSessions(store.transactions, timedelta(seconds=SESSION_SECONDS + 1)), settings
    )
    younger = Sessions(
        BackdatedSessions(store.transactions, timedelta(seconds=SESSION_SECONDS - 60)), settings
    )
    async with serving(store, settings) as client:
        assert await status_with(client, await begun(sessions)) == 401
        assert await status_with(client, await begun(younger)) == 200


async def test_signing_in_again_gives_another_session_and_ends_the_old_one(public: Client) -> None:
    first = await session_of(public)
    second = await session_of(public)

    assert first != second
    assert await status_with(public, first) == 401
    assert await status_with(public, second) == 200


async def test_a_session_that_the_browser_brought_along_is_not_taken(public: Client) -> None:
    planted = "planted-by-somebody-else-planted-by-somebod"
    response = await public.post(
        "/session",
        json={"token": TOKEN},
        headers={"Cookie": f"frontdesk_session={planted}"},
    )

    assert response.cookies["frontdesk_session"].value != planted
    assert await status_with(public, planted) == 401


async def test_signing_out_ends_a_copy_of_the_cookie_too(public: Client) -> None:
    session = await session_of(public)
    await public.post("/session/end", headers=own(public), allow_redirects=False)

    assert await status_with(public, session) == 401


async def test_signing_out_is_nothing_that_a_link_can_do(public: Client) -> None:
    session = await session_of(public)
    got = await public.get("/session/end", headers=PAGE_VIEW)
    evil = await public.post("/session/end", headers={"Origin": "https://evil.example"})

    assert (got.status, evil.status) == (405, 403)
    assert await status_with(public, session) == 200


async def test_a_new_token_ends_the_sessions_of_the_old_one(store: Store, tmp_path: Path) -> None:
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)) as client:
        session = await session_of(client)
    changed = settings_for(tmp_path, admin_token=f"{TOKEN}-2", **PUBLIC)
    async with serving(store, changed) as client:
        assert await status_with(client, session) == 401


async def test_a_session_survives_a_restart(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, admin_token=TOKEN, **PUBLIC)
    async with serving(store, settings) as client:
        session = await session_of(client)
    async with serving(store, settings) as client:
        assert await status_with(client, session) == 200


EXPERTS = {"oidc_expert_groups": "g-experts"}
EXPERT = {**ANNA, "groups": ["g-experts"]}
OUT_OF_THE_GROUP = {**ANNA, "groups": ["others"]}


@pytest.fixture
async def expert(store: Store, tmp_path: Path, issuer: FakeIssuer) -> AsyncIterator[Client]:
    """A server at which an expert is signed in by the issuer."""
    issuer.who = EXPERT
    async with serving(store, settings_with(tmp_path, issuer, **EXPERTS)) as client:
        await sign_in(client, issuer)
        yield client


async def age(store: Store, minutes: float) -> None:
    """Let all sessions have been confirmed some time ago, and no process ask about them."""
    then = datetime.now(UTC) - timedelta(minutes=minutes)
    async with store.transactions.writing() as connection:
        await connection.execute(update(SessionRow).values(confirmed_at=then, asked_until=None))


@pytest.mark.mended(id="attack-8")
async def test_groups_taken_away_are_gone_within_the_limit(
    store: Store, expert: Client, issuer: FakeIssuer
) -> None:
    assert await role(expert) == "expert"
    issuer.who = OUT_OF_THE_GROUP
    assert await role(expert) == "expert"
    await age(store, 15)

    assert await role(expert) == "asker"


async def test_a_session_goes_on_with_new_refresh_tokens(
    store: Store, expert: Client, issuer: FakeIssuer
) -> None:
    for _ in range(3):
        await age(store, 11)
        assert await role(expert) == "expert"

    assert len(set(issuer.refreshed)) == 3


async def test_the_issuer_is_not_asked_before_time(
    store: Store, expert: Client, issuer: FakeIssuer
) -> None:
    await age(store, 9)

    assert await role(expert) == "expert"
    assert issuer.refreshed == []


async def test_a_person_whom_the_issuer_drops_is_signed_out(
    store: Store, expert: Client, issuer: FakeIssuer
) -> None:
    issuer.vouches = False
    await age(store, 11)
    response = await expert.get("/", headers=PAGE_VIEW, allow_redirects=False)

    assert (response.status, response.headers["Location"]) == (303, "/session")
    assert (await expert.get("/role")).status == 401


async def test_a_token_for_somebody_else_ends_the_session(
    store: Store, expert: Client, issuer: FakeIssuer
) -> None:
    issuer.who = {**EXPERT, "sub": "pairwise-ben"}
    await age(store, 11)

    assert (await expert.get("/role")).status == 401


@pytest.mark.parametrize("trouble", ["500", "nonsense"])
async def test_without_the_issuer_groups_last_until_the_limit(
    store: Store, expert: Client, issuer: FakeIssuer, trouble: str
) -> None:
    issuer.troubles["token"] = trouble
    await age(store, 14)
    before = await role(expert)
    await age(store, 15)
    after = await role(expert)
    again = await role(expert)
    asked = len([*issuer.refreshed, *[None] * issuer.asked["token"]])
    issuer.troubles.clear()
    await age(store, 15)

    assert (before, after, again) == ("expert", "asker", "asker")
    assert asked == 3, "once at sign-in, and once for each time that it was due"
    assert await role(expert) == "expert"


async def test_two_processes_do_not_use_one_refresh_token(
    store: Store, expert: Client, issuer: FakeIssuer
) -> None:
    await age(store, 11)
    until = datetime.now(UTC) + timedelta(seconds=ASKING_SECONDS)
    async with store.transactions.writing() as connection:
        await connection.execute(update(SessionRow).values(asked_until=until))

    assert await role(expert) == "expert"
    assert issuer.refreshed == []


async def test_without_a_refresh_token_the_browser_is_sent_to_the_issuer(
    store: Store, tmp_path: Path, issuer: FakeIssuer
) -> None:
    issuer.refreshes, issuer.who = False, EXPERT
    async with serving(store, settings_with(tmp_path, issuer, **EXPERTS)) as client:
        await sign_in(client, issuer)
        await age(store, 14)
        assert await role(client) == "expert"
        await age(store, 15)
        response = await client.get("/role?a=1", headers=PAGE_VIEW, allow_redirects=False)
        again = await client.get("/role", headers=PAGE_VIEW, allow_redirects=False)

    assert response.headers["Location"].startswith("/session/oidc?next=/role")
    assert again.headers["Location"] == "/session?next=/role"


async def test_refresh_tokens_are_nowhere_in_the_record(
    store: Store, expert: Client, issuer: FakeIssuer, tmp_path: Path
) -> None:
    await age(store, 11)
    await role(expert)
    async with store.transactions.reading() as connection:
        (row,) = (await connection.exec_driver_sql("SELECT * FROM sessions")).all()

    assert "refresh-" not in str(row)
    assert not any("refresh-" in token for token in row if isinstance(token, str))
    assert TokenCipher((tmp_path / "cookie.key").read_bytes()).decrypt(row.refresh_token, "x") == ""


def test_a_refresh_token_is_read_with_both_secrets_alone() -> None:
    encrypted = TokenCipher(b"k" * 32).encrypt("refresh-1", "browser")

    assert TokenCipher(b"k" * 32).decrypt(encrypted, "browser") == "refresh-1"
    assert TokenCipher(b"k" * 32).decrypt(encrypted, "another") == ""
    assert TokenCipher(b"l" * 32).decrypt(encrypted, "browser") == ""
    assert TokenCipher(b"k" * 32).decrypt("", "browser") == ""


async def test_a_session_ended_while_the_issuer_is_asked_stays_ended(
    store: Store, expert: Client, issuer: FakeIssuer
) -> None:
    await age(store, 11)
    (signed_in,) = await store.sessions.people("default", datetime.now(UTC))
    issuer.before_refresh = lambda: store.sessions.end_all(
        "default", signed_in.person_id, actor="cli:ops"
    )

    assert (await expert.get("/role")).status == 401
    assert len(issuer.refreshed) == 1
