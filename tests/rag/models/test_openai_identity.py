from __future__ import annotations

import time
from typing import Self

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError

from rag.errors import ModelUnavailable
from rag.models.chat.openai_compatible import ModelSettings, open_model
from tests.rag.models.asking import FAST, PROMPT, asked
from tests.rag.models.openai_server import openai_server, says


async def test_a_server_without_a_key_is_sent_none_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server")
    async with asked(says("Yes."), api_key=None) as (model, server):
        server.key = "no-key"
        await model.complete(PROMPT)
    assert server.seen[0].authorization == "Bearer no-key"


class RisingTokens:
    """An identity that gives a new, already ageing token each time."""

    def __init__(self) -> None:
        self.scopes: list[str] = []
        self.closed = False

    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        self.scopes.extend(scopes)
        return AccessToken(f"token-{len(self.scopes)}", int(time.time()) + 60)

    async def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class NoIdentity(RisingTokens):
    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        raise ClientAuthenticationError(f"nobody is logged in for {scopes}")


async def test_an_identity_gives_a_fresh_token_to_each_request() -> None:
    identity = RisingTokens()
    async with openai_server(says("Yes.")) as server:
        model = open_model(ModelSettings("gpt-4o-mini", server.url, retry=FAST), identity)
        for number in (1, 2):
            server.key = f"token-{number}"
            await model.complete(PROMPT)
        await model.close()
    assert [request.authorization for request in server.seen] == [
        "Bearer token-1",
        "Bearer token-2",
    ]
    assert set(identity.scopes) == {"https://cognitiveservices.azure.com/.default"}
    assert not identity.closed  # it is the caller's


async def test_an_identity_without_a_token_is_said_with_the_cure() -> None:
    async with openai_server(says("Yes.")) as server:
        model = open_model(ModelSettings("gpt-4o-mini", server.url, retry=FAST), NoIdentity())
        with pytest.raises(ModelUnavailable, match="az login"):
            await model.complete(PROMPT)
        await model.close()
        assert server.seen == []


@pytest.mark.parametrize(
    "base_url",
    ["https://acme.openai.azure.com/openai/v1/", "https://acme.services.ai.azure.com/openai/v1/"],
)
async def test_azure_without_a_key_opens_with_the_process_identity(base_url: str) -> None:
    model = open_model(ModelSettings("chat", base_url))
    await model.close()
