"""Fixtures of the web chat's tests: one chat and one visitor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.store.database import Store
from tests.fakes.chat_app import Browser, OnePageIndex, VpnDesk, chat_app


@pytest.fixture
def pages() -> OnePageIndex:
    return OnePageIndex()


@pytest.fixture
async def desk() -> VpnDesk:
    return VpnDesk()


@pytest.fixture
async def client(
    tmp_path: Path, store: Store, pages: OnePageIndex, desk: VpnDesk
) -> AsyncIterator[TestClient]:  # type: ignore[type-arg]  # generic only in stubs
    async with (
        chat_app(tmp_path, store, pages, desk) as app,
        TestClient(TestServer(app)) as opened,
    ):
        opened.session.headers["Accept"] = "text/html"
        yield opened


@pytest.fixture
def browser(client: TestClient) -> Browser:  # type: ignore[type-arg]  # generic only in stubs
    return Browser(client)
