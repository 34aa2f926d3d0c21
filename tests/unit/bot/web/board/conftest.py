"""Fixtures of the board's tests: one board over an empty record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store.database import Store
from tests.fakes.board_app import BoardBrowser, TwoPageIndex, board


@pytest.fixture
def shelf() -> TwoPageIndex:
    return TwoPageIndex()


@pytest.fixture
async def desk(tmp_path: Path, store: Store, shelf: TwoPageIndex) -> AsyncIterator[BoardBrowser]:
    async with board(tmp_path, store, shelf) as opened:
        yield opened
