from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from bot.web.auth.id_tokens import IssuerUnavailable, SignInRefused
from bot.web.auth.issuer import (
    FRESH_SECONDS,
    PAUSE_SECONDS,
    SHORT_PAUSE_SECONDS,
    USABLE_SECONDS,
    ClientRegistration,
    Issuer,
    new_attempt,
)
from tests.bot.doors.signin.desk import CALLBACK
from tests.oidc import CLIENT_ID, FakeIssuer


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def client_of(issuer: FakeIssuer, clock: Clock | None = None, seconds: float = 10) -> Issuer:
    known_as = ClientRegistration(issuer.url, CLIENT_ID, CALLBACK, issuer.secret)
    return Issuer(known_as, timeout_seconds=seconds, clock=clock or Clock())


async def redeemed(issuer: FakeIssuer) -> str:
    issuer.redirect_uris.add(CALLBACK)
    attempt, client = new_attempt("/"), client_of(issuer)
    back = await issuer.approve(await client.address(attempt))
    code = back.partition("code=")[2].partition("&")[0]
    return await client.redeem(code, attempt.verifier)


async def test_what_is_published_is_asked_for_once_an_hour(issuer: FakeIssuer) -> None:
    clock = Clock()
    client = client_of(issuer, clock)
    for _ in range(3):
        await client.address(new_attempt("/"))
    assert issuer.asked == {"openid-configuration": 1, "keys": 1}

    clock.now += FRESH_SECONDS + 1
    await client.address(new_attempt("/"))
    assert issuer.asked == {"openid-configuration": 2, "keys": 2}


async def test_those_who_come_together_ask_once(issuer: FakeIssuer) -> None:
    client = client_of(issuer)
    await asyncio.gather(*(client.address(new_attempt("/")) for _ in range(20)))

    assert issuer.asked == {"openid-configuration": 1, "keys": 1}


async def test_a_new_key_is_found_at_once(issuer: FakeIssuer) -> None:
    client = client_of(issuer)
    assert (await client.key("first")).id == "first"
    issuer.rotate("second")

    assert (await client.key("second")).id == "second"
    with pytest.raises(SignInRefused):
        await client.key("first")


async def test_an_unknown_key_is_looked_for_once_a_minute(issuer: FakeIssuer) -> None:
    clock = Clock()
    client = client_of(issuer, clock)
    await client.key("first")
    for _ in range(5):
        with pytest.raises(SignInRefused, match="a key that the issuer has not"):
            await client.key("invented")
    assert issuer.asked["keys"] == 2

    clock.now += PAUSE_SECONDS
    with pytest.raises(SignInRefused):
        await client.key("invented")
    assert issuer.asked["keys"] == 3


async def test_a_token_without_a_key_id_means_the_only_key(issuer: FakeIssuer) -> None:
    client = client_of(issuer)

    assert (await client.key(None)).id == "first"


async def test_what_was_published_outlives_an_outage_for_a_day(issuer: FakeIssuer) -> None:
    clock = Clock()
    client = client_of(issuer, clock)
    await client.key("first")
    issuer.troubles["openid-configuration"] = "500"

    clock.now = USABLE_SECONDS - 1
    assert (await client.key("first")).id == "first"
    clock.now = USABLE_SECONDS + PAUSE_SECONDS
    with pytest.raises(IssuerUnavailable):
        await client.key("first")


async def test_an_issuer_that_is_away_is_not_stormed(issuer: FakeIssuer) -> None:
    clock = Clock()
    client = client_of(issuer, clock)
    issuer.troubles["openid-configuration"] = "500"
    for _ in range(5):
        with pytest.raises(IssuerUnavailable):
            await client.address(new_attempt("/"))
    assert issuer.asked["openid-configuration"] == 1

    issuer.troubles.clear()
    clock.now += SHORT_PAUSE_SECONDS
    assert await client.address(new_attempt("/"))


async def test_a_slow_issuer_is_given_up(issuer: FakeIssuer) -> None:
    issuer.troubles["openid-configuration"] = "slow"
    with pytest.raises(IssuerUnavailable, match="TimeoutError"):
        await client_of(issuer, seconds=0.2).address(new_attempt("/"))


async def test_an_issuer_that_is_not_there_is_unavailable() -> None:
    nowhere = FakeIssuer(base="http://127.0.0.1:1")
    with pytest.raises(IssuerUnavailable, match="can't be asked"):
        await client_of(nowhere).address(new_attempt("/"))


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"issuer": "https://login.microsoftonline.com/{tenantid}/v2.0"},
        {"token_endpoint": "http://evil.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
        {"token_endpoint": "https://[evil"},
        {"jwks_uri": 7},
    ],
    ids=str,
)
async def test_an_issuer_that_says_what_it_may_not_is_not_used(
    issuer: FakeIssuer, document: dict[str, object]
) -> None:
    issuer.document = document
    with pytest.raises(IssuerUnavailable):
        await client_of(issuer).address(new_attempt("/"))


@pytest.mark.parametrize(
    "methods", [["client_secret_post"], ["client_secret_basic"], ["client_secret_basic", "none"]]
)
async def test_the_secret_goes_where_the_issuer_wants_it(
    issuer: FakeIssuer, methods: list[str]
) -> None:
    issuer.document["token_endpoint_auth_methods_supported"] = methods

    assert await redeemed(issuer)


async def test_a_public_client_has_no_secret(issuer: FakeIssuer) -> None:
    issuer.secret = None

    assert await redeemed(issuer)


async def test_a_wrong_secret_is_told_to_the_operator(issuer: FakeIssuer) -> None:
    client = client_of(issuer)
    issuer.secret = "changed"
    with pytest.raises(IssuerUnavailable, match="Check OIDC_CLIENT_ID, OIDC_CLIENT_SECRET"):
        await client.redeem("code", "verifier")


def test_the_secret_is_not_shown() -> None:
    assert "hidden-secret" not in repr(ClientRegistration("i", "c", "r", "hidden-secret"))
