"""Servers that are not the service, roles and tokens, and what the doctor says of a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from pydantic import SecretStr

from rag.config import SearchSettings
from rag.errors import IndexUnavailable
from rag.index.azure.diagnostics import check_service
from rag.index.azure.index import Opening, open_azure_index
from rag.types import Check
from tests.fakes.azure_index import INDEX_NAME, QUICK_OPENING, open_test_index, settings_of
from tests.fakes.certificates import Certificate, make_certificate
from tests.fakes.passages import ask, draft, page_ids, put
from tests.fakes.search_service.service import SearchService

KEY = "very-secret-key"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def server_answering(answer: Answer) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        await server.close()


async def refused(url: str) -> str:
    """Open the index there, which fails; return what is said."""
    settings = SearchSettings.model_validate(
        {"azure_search_endpoint": url, "azure_search_key": SecretStr(KEY)}
    )
    with pytest.raises(IndexUnavailable) as error:
        await open_azure_index(settings, None, create=False, opening=QUICK_OPENING)
    assert error.value.__cause__ is None
    assert KEY not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("content_type", ["text/html", "application/json"])
async def test_a_login_page_is_told_from_the_service(content_type: str) -> None:
    async def login(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Sign in, please</html>", content_type=content_type)

    async with server_answering(login) as url:
        said = await refused(url)

    assert "not its own; check AZURE_SEARCH_ENDPOINT" in said
    assert "Sign in" not in said


async def test_json_that_is_not_the_services_is_told_too() -> None:
    async def other(_: web.Request) -> web.StreamResponse:
        return web.json_response({"hello": "world"})

    async with server_answering(other) as url:
        assert "not its own" in await refused(url)


async def test_a_redirect_takes_the_key_nowhere() -> None:
    keys: list[str | None] = []

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        keys.append(request.headers.get("api-key"))
        return web.json_response({"value": []})

    async with server_answering(elsewhere) as target:

        async def redirect(_: web.Request) -> web.StreamResponse:
            raise web.HTTPTemporaryRedirect(target)

        async with server_answering(redirect) as url:
            assert "redirects elsewhere" in await refused(url)

    assert keys == []


async def test_an_error_of_the_service_is_not_repeated() -> None:
    async def repeats(_: web.Request) -> web.StreamResponse:
        words = {"error": {"code": "x", "message": f"user:ann may not, {KEY}"}}
        return web.json_response(words, status=400)

    async with server_answering(repeats) as url:
        said = await refused(url)

    assert "ann" not in said
    assert "400" in said


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
    return replace(QUICK_OPENING, credential=identity, authority=str(certificate.authority))


async def test_whoever_answers_needs_to_read_documents_and_no_more(
    secure: SearchService, certificate: Certificate
) -> None:
    reading, writing = Identity("reader"), Identity("writer")
    async with open_test_index(secure, opening=known_as(writing, certificate)) as writer:
        await put(writer, VPN)
        before = len(secure.requests)
        async with open_test_index(
            secure, create=False, opening=known_as(reading, certificate)
        ) as reader:
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
    async with open_test_index(secure, opening=known_as(Identity("writer"), certificate)) as writer:
        await put(writer, VPN)

    async with open_test_index(secure, opening=known_as(Identity("bot"), certificate)) as bot:
        await put(bot, LEAVE)

        assert set(await bot.pages("acme", "it")) == {"vpn", "leave"}


async def test_whoever_may_only_read_can_not_make_an_index(
    secure: SearchService, certificate: Certificate
) -> None:
    with pytest.raises(IndexUnavailable, match=r"403.*Search Service Contributor"):
        async with open_test_index(secure, opening=known_as(Identity("reader"), certificate)):
            pass


async def test_a_token_that_is_not_known_names_the_role(
    secure: SearchService, certificate: Certificate
) -> None:
    with pytest.raises(IndexUnavailable, match=r"401.*Search Index Data Reader"):
        async with open_test_index(
            secure, create=False, opening=known_as(Identity("x"), certificate)
        ):
            pass


async def test_an_identity_without_a_token_says_what_to_do_and_nothing_secret(
    secure: SearchService, certificate: Certificate
) -> None:
    identity = Identity(None)

    with pytest.raises(IndexUnavailable, match="AZURE_CLIENT_ID") as refused:
        async with open_test_index(secure, create=False, opening=known_as(identity, certificate)):
            pass

    assert "secret-tenant" not in str(refused.value)
    assert identity.closed


@pytest.fixture
async def diagnosed_service() -> AsyncIterator[SearchService]:
    async with SearchService().serving() as serving:
        yield serving


async def checked(diagnosed_service: SearchService, **parts: object) -> dict[str, Check]:
    settings = settings_of(diagnosed_service, **parts)  # type: ignore[arg-type]  # a test's
    checks = await check_service(settings, policy=QUICK_OPENING.policy)
    return {each.name: each for each in checks}


async def test_with_every_right_all_is_tried_and_nothing_changed(
    diagnosed_service: SearchService,
) -> None:
    async with open_test_index(diagnosed_service) as index:
        await index.fingerprint()
    before = diagnosed_service.documents(INDEX_NAME)

    checks = await checked(diagnosed_service, azure_search_semantic=True)

    assert {name: each.works for name, each in checks.items()} == {
        "search": True,
        "lists": True,
        "spelling": True,
        "semantic ranker": True,
        "definition": True,
        "writing": True,
    }
    assert f"index {INDEX_NAME}-v1" in checks["search"].detail
    assert diagnosed_service.documents(INDEX_NAME) == before


async def test_who_only_answers_is_told_the_roles_that_indexing_needs(
    diagnosed_service: SearchService,
) -> None:
    async with open_test_index(diagnosed_service):
        pass

    checks = await checked(diagnosed_service, key=diagnosed_service.access.query_key)

    assert checks["search"].works
    assert checks["definition"].works is None
    assert "`Search Service Contributor`" in checks["definition"].detail
    assert checks["writing"].works is None
    assert "`Search Index Data Contributor`" in checks["writing"].detail


async def test_an_index_that_is_not_there_is_said_with_the_cure(
    diagnosed_service: SearchService,
) -> None:
    checks = await checked(diagnosed_service)

    assert checks["search"].works is False
    assert "run the ingestion" in checks["search"].detail
    assert "semantic ranker" not in checks


async def test_a_wrong_key_is_said_without_it(diagnosed_service: SearchService) -> None:
    checks = await checked(diagnosed_service, key="a-wrong-key")

    assert checks["search"].works is False
    assert "AZURE_SEARCH_KEY" in checks["search"].detail
    assert all("a-wrong-key" not in each.detail for each in checks.values())


async def test_a_service_that_is_away_is_said(diagnosed_service: SearchService) -> None:
    settings = settings_of(diagnosed_service)
    away = settings.model_copy(update={"azure_search_endpoint": "http://127.0.0.1:9"})

    checks = await check_service(away, policy=QUICK_OPENING.policy)

    assert {each.works for each in checks} == {False}
    assert "AZURE_SEARCH_ENDPOINT" in checks[0].detail


async def test_a_token_does_not_go_over_plain_http(diagnosed_service: SearchService) -> None:
    settings = settings_of(diagnosed_service).model_copy(update={"azure_search_key": None})

    (check,) = await check_service(settings)

    assert check.works is False
    assert "https://" in check.detail


async def test_without_an_endpoint_there_is_nothing_to_check(
    diagnosed_service: SearchService,
) -> None:
    settings = settings_of(diagnosed_service).model_copy(update={"azure_search_endpoint": None})

    assert await check_service(settings) == ()


async def test_a_service_that_looks_up_no_words_is_said_to_search_as_typed(
    diagnosed_service: SearchService,
) -> None:
    async with open_test_index(diagnosed_service):
        pass
    diagnosed_service.faults.slow("search", 0.0, times=3)
    diagnosed_service.faults.refuse("search", 400)

    checks = await checked(diagnosed_service)

    assert checks["search"].works
    assert checks["lists"].works
    assert checks["spelling"].works is None


@pytest.mark.mended(id="confluence-6")
async def test_a_service_that_compares_no_texts_is_said_to_have_a_limit() -> None:
    async with SearchService(takes_text_ranges=False).serving() as service:
        async with open_test_index(service):
            pass

        checks = await checked(service)

    assert checks["search"].works
    assert checks["lists"].works is None
    assert "101,000" in checks["lists"].detail
