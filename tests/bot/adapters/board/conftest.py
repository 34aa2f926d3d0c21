"""One board, over an empty record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store.database import Store
from tests.bot.adapters.board.work_app import Desk, Shelf, board


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
async def desk(tmp_path: Path, store: Store, shelf: Shelf) -> AsyncIterator[Desk]:
    async with board(tmp_path, store, shelf) as opened:
        yield opened
