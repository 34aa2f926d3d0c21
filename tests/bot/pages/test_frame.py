"""What the frame does for addresses that lead nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.domain.settings_loading import load_settings
from bot.web.auth.security import mount_security
from bot.web.pages.layout import add_pages

Client = TestClient[web.Request, web.Application]


async def _thing(_: web.Request) -> web.Response:
    raise web.HTTPNotFound(text="There is no such thing.")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    (tmp_path / "static").mkdir()
    app = web.Application()
    mount_security(app, load_settings(_env_file=None, data_dir=tmp_path))
    add_pages(app, tmp_path)
    app.router.add_get("/thing", _thing)
    async with TestClient(TestServer(app)) as opened:
        yield opened


async def test_who_looks_for_a_page_that_is_none_is_shown_one(client: Client) -> None:
    response = await client.get("/nope", headers={"Accept": "text/html,*/*;q=0.8"})

    assert response.status == 404
    assert "There is nothing here" in await response.text()


async def test_programs_get_what_they_always_got(client: Client) -> None:
    response = await client.get("/nope", headers={"Accept": "application/json"})

    assert response.status == 404
    assert "<html" not in await response.text()


async def test_what_a_page_itself_says_is_missing_is_left_to_it(client: Client) -> None:
    response = await client.get("/thing", headers={"Accept": "text/html"})

    assert response.status == 404
    assert "There is no such thing." in await response.text()
