"""An issuer for each test, and a browser that signs in with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientResponse

from bot.domain.settings import Settings
from tests.fakes.http_server import PAGE_VIEW, TOKEN, Client, settings_for
from tests.fakes.openid_provider import CLIENT_ID, FakeIssuer

ADDRESS = "http://127.0.0.1:9"
"""Where colleagues reach it, as far as the issuer knows; the tests know better."""
CALLBACK = f"{ADDRESS}/session/oidc/callback"


def settings_with(directory: Path, issuer: FakeIssuer, **changes: object) -> Settings:
    """Return settings of a desk that signs in with an issuer, and make it known there."""
    issuer.redirect_uris.add(CALLBACK)
    given = {
        "host": "0.0.0.0",  # noqa: S104 - the case that needs signing in
        "public_url": ADDRESS,
        "oidc_issuer": issuer.url,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": issuer.secret,
        **changes,
    }
    return settings_for(directory, **given)


async def leave(client: Client, wanted: str = "/") -> str:
    """Begin to sign in; return where the browser is sent to."""
    response = await client.get(
        "/session/oidc", params={"next": wanted}, headers=PAGE_VIEW, allow_redirects=False
    )
    assert response.status == 303, await response.text()
    return response.headers["Location"]


async def come_back(client: Client, address: str) -> ClientResponse:
    """Follow the issuer's redirect."""
    parts = urlsplit(address)
    return await client.get(f"{parts.path}?{parts.query}", headers=PAGE_VIEW, allow_redirects=False)


async def sign_in(client: Client, issuer: FakeIssuer, wanted: str = "/") -> ClientResponse:
    """Sign in as whom the issuer says."""
    return await come_back(client, await issuer.approve(await leave(client, wanted)))


PUBLIC = {"host": "0.0.0.0"}  # noqa: S104 - the case that needs the token


def own(client: Client) -> dict[str, str]:
    """Return the headers of a page of this server."""
    return {"Origin": f"http://127.0.0.1:{client.port}"}


async def sign_in_with_token(client: Client, token: str = TOKEN) -> int:
    """Sign in with the admin token, as a browser does."""
    response = await client.post(
        "/session", data={"token": token}, headers=own(client), allow_redirects=False
    )
    return response.status


async def role(client: Client) -> str:
    """Return what the browser's owner may do, as the desk sees it."""
    return await (await client.get("/role")).text()


@pytest.fixture
async def issuer() -> AsyncIterator[FakeIssuer]:
    async with FakeIssuer().serving() as serving:
        yield serving
