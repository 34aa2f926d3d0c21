"""Whom the bot asks for its token, and what it says where it gets none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.settings import Settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud, token_refusal_of
from tests.bot.adapters.teams.activities import question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.login import HOST, Login
from tests.bot.adapters.teams.tenant.names import APP_ID, ENTRA

WORDS = {"type": "message", "text": "x"}


@pytest.fixture
async def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Login]:
    async with Login().serving(tmp_path) as login:
        for name, value in login.environment().items():
            monkeypatch.setenv(name, value)
        yield login


@pytest.mark.parametrize(
    ("kind", "authority"),
    [("SingleTenant", ENTRA), ("MultiTenant", "botframework.com")],
)
async def test_each_kind_of_registration_asks_its_own_authority_once(
    teams: FakeTeams, settings: Settings, login: Login, kind: str, authority: str
) -> None:
    registered = settings.model_copy(update={"microsoft_app_type": kind})
    connector = connect(registered, cloud=Cloud()).connector
    for _ in range(3):
        await connector.send(question(teams).reply_to, WORDS)
    assert login.authorities == [f"https://{HOST}/{authority}"]
    assert len(teams.sent) == 3


async def test_a_managed_identity_is_asked_of_the_machine_without_a_secret(
    teams: FakeTeams, settings: Settings, login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDENTITY_ENDPOINT", login.identity)
    monkeypatch.setenv("IDENTITY_HEADER", "header")
    managed = {"microsoft_app_type": "UserAssignedMSI", "microsoft_app_password": None}
    connector = connect(settings.model_copy(update=managed), cloud=Cloud()).connector
    for _ in range(3):
        await connector.send(question(teams).reply_to, WORDS)
    assert login.resources == [(APP_ID, "https://api.botframework.com")]
    assert not login.authorities


@pytest.mark.parametrize(
    ("words", "why", "cure"),
    [
        ("AADSTS7000222: expired", "has expired", "MICROSOFT_APP_PASSWORD"),
        ("AADSTS7000215: Invalid", "is wrong", "MICROSOFT_APP_PASSWORD"),
        ("AADSTS700016: not found", "not in the directory", "MICROSOFT_APP_TYPE"),
        ("AADSTS90002: no tenant", "no such directory", "MICROSOFT_APP_TENANT_ID"),
        ("AADSTS1: new", "gives no token", "MICROSOFT_APP_ID"),
    ],
)
async def test_a_refused_token_is_told_in_one_line_with_its_cure(
    teams: FakeTeams, settings: Settings, login: Login, words: str, why: str, cure: str
) -> None:
    login.refusal = words
    channel = connect(settings, cloud=Cloud())
    with pytest.raises(DeliveryFailed, match=why) as failed:
        await channel.connector.send(question(teams).reply_to, WORDS)
    part = channel.part()
    assert (part.state, why in part.detail, cure in part.cure) == ("failed", True, True)
    assert "AADSTS" not in f"{failed.value}{part.line()}"
    assert not teams.calls
    login.refusal = ""
    await channel.connector.send(question(teams).reply_to, WORDS)
    assert channel.part().state == "ready"


async def test_a_login_that_cannot_be_reached_is_told(
    teams: FakeTeams, settings: Settings, login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    channel = connect(settings, cloud=Cloud())
    with pytest.raises(DeliveryFailed, match="cannot be reached"):
        await channel.connector.send(question(teams).reply_to, WORDS)
    assert channel.part().cure == "Check the network."
    assert not login.authorities


def test_nothing_of_an_errors_own_words_is_told() -> None:
    told = str(token_refusal_of(PermissionError("secret=hunter2 AADSTS999")))
    assert "hunter2" not in told
    assert "PermissionError" in told
