"""A wiki for each test of the source."""

from __future__ import annotations

import pytest

from tests.unit.ingestion.confluence.space_wiki import SpaceWiki


@pytest.fixture
def wiki() -> SpaceWiki:
    return SpaceWiki()
