"""With tokens over https: the least roles are enough, and less is said with the cure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError

from rag.errors import IndexUnavailable
from rag.index.azure.index import Opening
from tests.contract.pages import ask, draft, page_ids, put
from tests.rag.index.azure.opened import QUICK, opened
from tests.search_service.service import SearchService
from tests.search_service.tls import Certificate, make_certificate

VPN = draft("vpn", "VPN needs a token.")
LEAVE = draft("leave", "Annual leave is requested in the portal.")


class Identity:
    """A workload's identity: gives the token that it was made with, or none."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self.scopes: set[str] = set()
        self.closed = False

    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        self.scopes |= set(scopes)
        if self._token is None:
            raise ClientAuthenticationError("No identity here, secret-tenant.")
        return AccessToken(self._token, 2**31)

    async def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        await self.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make_certificate(tmp_path)


@pytest.fixture
async def secure(certificate: Certificate) -> AsyncIterator[SearchService]:
    async with SearchService(tls=certificate.server).serving() as running:
        running.access.grant("reader", "Search Index Data Reader")
        running.access.grant(
            "writer", "Search Index Data Contributor", "Search Service Contributor"
        )
        yield running


def known_as(identity: Identity, certificate: Certificate) -> Opening:
    return replace(QUICK, credential=identity, authority=str(certificate.authority))


async def test_whoever_answers_needs_to_read_documents_and_no_more(
    secure: SearchService, certificate: Certificate
) -> None:
    reading, writing = Identity("reader"), Identity("writer")
    async with opened(secure, opening=known_as(writing, certificate)) as writer:
        await put(writer, VPN)
        before = len(secure.requests)
        async with opened(secure, create=False, opening=known_as(reading, certificate)) as reader:
            assert page_ids(await ask(reader, "VPN token")) == ["vpn"]
            assert [one.space for one in await reader.space_summaries("acme", None)] == ["it"]

    assert {request.kind for request in secure.requests[before:]} == {"search"}
    assert all("api-key" not in request.headers for request in secure.requests)
    assert reading.scopes == {"https://search.azure.com/.default"}
    assert reading.closed
    assert writing.closed


async def test_whoever_may_write_documents_alone_writes_to_an_index_that_is_there(
    secure: SearchService, certificate: Certificate
) -> None:
    secure.access.grant("bot", "Search Index Data Contributor")
    async with opened(secure, opening=known_as(Identity("writer"), certificate)) as writer:
        await put(writer, VPN)

    async with opened(secure, opening=known_as(Identity("bot"), certificate)) as bot:
        await put(bot, LEAVE)

        assert set(await bot.pages("acme", "it")) == {"vpn", "leave"}


async def test_whoever_may_only_read_can_not_make_an_index(
    secure: SearchService, certificate: Certificate
) -> None:
    with pytest.raises(IndexUnavailable, match=r"403.*Search Service Contributor"):
        async with opened(secure, opening=known_as(Identity("reader"), certificate)):
            pass


async def test_a_token_that_is_not_known_names_the_role(
    secure: SearchService, certificate: Certificate
) -> None:
    with pytest.raises(IndexUnavailable, match=r"401.*Search Index Data Reader"):
        async with opened(secure, create=False, opening=known_as(Identity("x"), certificate)):
            pass


async def test_an_identity_without_a_token_says_what_to_do_and_nothing_secret(
    secure: SearchService, certificate: Certificate
) -> None:
    identity = Identity(None)

    with pytest.raises(IndexUnavailable, match="AZURE_CLIENT_ID") as refused:
        async with opened(secure, create=False, opening=known_as(identity, certificate)):
            pass

    assert "secret-tenant" not in str(refused.value)
    assert identity.closed
