"""What is said of a server that is not the service, or sends one elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import SecretStr

from rag.config import SearchSettings
from rag.errors import IndexUnavailable
from rag.index.azure.index import open_azure_index
from tests.rag.index.azure.opened import QUICK

KEY = "very-secret-key"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
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
        await open_azure_index(settings, None, create=False, opening=QUICK)
    assert error.value.__cause__ is None
    assert KEY not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("content_type", ["text/html", "application/json"])
async def test_a_login_page_is_told_from_the_service(content_type: str) -> None:
    async def login(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Sign in, please</html>", content_type=content_type)

    async with answering(login) as url:
        said = await refused(url)

    assert "not its own; check AZURE_SEARCH_ENDPOINT" in said
    assert "Sign in" not in said


async def test_json_that_is_not_the_services_is_told_too() -> None:
    async def other(_: web.Request) -> web.StreamResponse:
        return web.json_response({"hello": "world"})

    async with answering(other) as url:
        assert "not its own" in await refused(url)


async def test_a_redirect_takes_the_key_nowhere() -> None:
    keys: list[str | None] = []

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        keys.append(request.headers.get("api-key"))
        return web.json_response({"value": []})

    async with answering(elsewhere) as target:

        async def redirect(_: web.Request) -> web.StreamResponse:
            raise web.HTTPTemporaryRedirect(target)

        async with answering(redirect) as url:
            assert "redirects elsewhere" in await refused(url)

    assert keys == []


async def test_an_error_of_the_service_is_not_repeated() -> None:
    async def repeats(_: web.Request) -> web.StreamResponse:
        words = {"error": {"code": "x", "message": f"user:ann may not, {KEY}"}}
        return web.json_response(words, status=400)

    async with answering(repeats) as url:
        said = await refused(url)

    assert "ann" not in said
    assert "400" in said
