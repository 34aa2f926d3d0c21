"""Fixtures of the tests over HTTP: servers in the settings that most tests need."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store.database import Store
from tests.fakes.http_server import TOKEN, Client, serving, settings_for


@pytest.fixture
async def client(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    """A server on loopback without any setting, where whoever asks is its operator."""
    async with serving(store, settings_for(tmp_path)) as opened:
        yield opened


@pytest.fixture
async def guarded(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    """A server on loopback that has an admin token."""
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as opened:
        yield opened


@pytest.fixture
async def public(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    """A server that strangers reach, with an admin token."""
    settings = settings_for(tmp_path, admin_token=TOKEN, host="0.0.0.0")  # noqa: S104 - not bound
    async with serving(store, settings) as opened:
        yield opened


@pytest.fixture
async def sample_client(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    """A server over the sample, whose invented colleagues can be played."""
    async with serving(store, settings_for(tmp_path), sample=True) as opened:
        yield opened
