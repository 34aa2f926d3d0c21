"""Tests of the board's page of who is signed in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.store.database import Store
from tests.fakes.board_app import BoardState, Client, state_pages
from tests.fakes.http_server import settings_for
from tests.fakes.openid_provider import FakeIssuer
from tests.unit.bot.web.auth.conftest import settings_with
from tests.unit.bot.web.auth.conftest import sign_in as sign_in_with

PATH = "/board/settings/sessions"
ANNA = SignedIn("oidc", "asker", Person("oidc-1", "Anna <b>", "anna@acme.example"))


async def sign_in(store: Store, session_id: str, who: SignedIn = ANNA) -> None:
    now = datetime.now(UTC)
    await store.sessions.begin("default", session_id, who, now, now + timedelta(hours=1))


async def post(client: Client, person: str) -> int:
    origin = str(client.make_url("/")).rstrip("/")
    response = await client.post(
        PATH, data={"person": person}, headers={"Origin": origin}, allow_redirects=False
    )
    return response.status


async def test_an_admin_ends_all_sessions_of_a_person(store: Store, tmp_path: Path) -> None:
    await sign_in(store, "a")
    await sign_in(store, "b")
    await sign_in(store, "c", SignedIn("token", "admin"))
    async with state_pages(store, settings_for(tmp_path), BoardState()) as client:
        before = await (await client.get(PATH)).text()
        assert await post(client, "oidc-1") == 303
        after = await (await client.get(PATH)).text()

    assert "Anna &lt;b&gt;" in before
    assert "anna@acme.example" in before
    assert "anna@acme.example" not in after
    assert "The admin token" in after
    assert await store.sessions.find("default", "a", datetime.now(UTC)) is None
    (act,) = await store.audits.newest("default", 5)
    assert (act.act, act.subject, act.detail) == ("end sessions", "oidc-1", "2")


@pytest.mark.parametrize("groups", [{}, {"oidc_expert_groups": "staff"}])
async def test_nobody_else_sees_or_ends_sessions(
    store: Store, tmp_path: Path, groups: dict[str, str]
) -> None:
    await sign_in(store, "a")
    async with FakeIssuer(claims={"groups": ["staff"]}).serving() as issuer:
        settings = settings_with(tmp_path, issuer, **groups)
        async with state_pages(store, settings, BoardState()) as client:
            await sign_in_with(client, issuer)
            assert (await client.get(PATH)).status == 403
            assert await post(client, "oidc-1") == 403

    assert await store.sessions.find("default", "a", datetime.now(UTC)) is not None
