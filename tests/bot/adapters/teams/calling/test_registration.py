"""How botbuilder is set up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import requests
from botframework.connector.auth import MicrosoftAppCredentials
from msrest.universal_http.requests import ClientRetryPolicy

from bot.platforms.teams.client import registration
from bot.platforms.teams.client.registration import limit_token_requests, speed_up_msrest


def test_msrest_searches_no_list_of_codes_whenever_it_is_set_up() -> None:
    """ClientRetryPolicy looks 999 codes up in a list of 501: 3.4 ms, four times an activity."""
    before = _retried()
    speed_up_msrest()
    assert isinstance(ClientRetryPolicy.safe_codes, frozenset)
    assert _retried() == before
    assert 408 in before
    assert 200 not in before


async def test_who_issues_tokens_and_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Botbuilder gives MSAL no deadline: a connection that died silently hangs for ever."""
    monkeypatch.setattr(registration, "_TOKEN_REQUEST_SECONDS", 0.1)
    limit_token_requests()
    closing = asyncio.Event()

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await closing.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    credentials = MicrosoftAppCredentials("app", "secret")
    credentials.oauth_endpoint = f"https://127.0.0.1:{port}/tenant"
    async with server, asyncio.timeout(10.0):
        with pytest.raises(requests.RequestException):
            await asyncio.to_thread(credentials.get_access_token)
        closing.set()


def _retried() -> list[int]:
    set_up: Any = ClientRetryPolicy
    return list(set_up().policy.status_forcelist)
