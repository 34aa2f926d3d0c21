"""Keys, tokens and roles: who may do what, and who is refused how."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Self

import pytest
from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from tests.search_service.auth import Role
from tests.search_service.example import index_of, page
from tests.search_service.service import SearchService
from tests.search_service.tls import Certificate, make_certificate

READER: Role = "Search Index Data Reader"
WRITER: Role = "Search Index Data Contributor"
DEFINER: Role = "Search Service Contributor"


class Token:
    """A credential that always has this token."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        assert scopes == ("https://search.azure.com/.default",)
        return AccessToken(self._token, int(time.time()) + 3600)

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make_certificate(tmp_path)


@pytest.fixture
async def secure(certificate: Certificate) -> AsyncIterator[SearchService]:
    async with SearchService(tls=certificate.server).serving() as running:
        yield running


async def _status(call: Callable[[], Awaitable[object]]) -> int:
    try:
        await call()
    except HttpResponseError as error:
        return error.status_code or 0
    return 200


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ([], (403, 403, 403)),
        ([READER], (200, 403, 403)),
        ([WRITER], (200, 200, 403)),
        ([DEFINER], (403, 403, 200)),
        ([WRITER, DEFINER], (200, 200, 200)),
    ],
)
async def test_a_role_gives_its_rights_and_no_others(
    secure: SearchService, certificate: Certificate, roles: list[Role], expected: tuple[int, ...]
) -> None:
    verify = str(certificate.authority)
    secure.access.grant("token", *roles)
    key = AzureKeyCredential(secure.access.admin_key)
    async with SearchIndexClient(secure.url, key, connection_verify=verify) as admin:
        await admin.create_index(index_of("kb"))

    async with (
        SearchClient(secure.url, "kb", Token("token"), connection_verify=verify) as client,
        SearchIndexClient(secure.url, Token("token"), connection_verify=verify) as admin,
    ):
        statuses = (
            await _status(client.get_document_count),
            await _status(lambda: client.upload_documents([page("a")])),
            await _status(lambda: admin.get_index("kb")),
        )

    assert statuses == expected


async def test_an_unknown_token_is_nobody(secure: SearchService, certificate: Certificate) -> None:
    verify = str(certificate.authority)
    async with SearchClient(secure.url, "kb", Token("x"), connection_verify=verify) as client:
        with pytest.raises(ClientAuthenticationError) as refused:
            await client.get_document_count()

    assert refused.value.status_code == 401


async def test_a_query_key_only_reads(client: SearchClient, service: SearchService) -> None:
    key = AzureKeyCredential(service.access.query_key)
    async with (
        SearchClient(service.url, "kb", key) as reader,
        SearchIndexClient(service.url, key) as definer,
    ):
        assert await reader.get_document_count() == 0
        assert await _status(lambda: reader.upload_documents([page("a")])) == 403
        assert await _status(lambda: definer.get_index("kb")) == 403


async def test_a_wrong_key_is_forbidden(service: SearchService) -> None:
    async with SearchClient(service.url, "kb", AzureKeyCredential("wrong")) as client:
        assert await _status(client.get_document_count) == 403


async def test_an_unknown_version_of_the_api_is_refused(service: SearchService) -> None:
    key = AzureKeyCredential(service.access.admin_key)
    async with SearchClient(service.url, "kb", key, api_version="2026-05-01-preview") as client:
        with pytest.raises(HttpResponseError, match="api-version"):
            await client.get_document_count()
