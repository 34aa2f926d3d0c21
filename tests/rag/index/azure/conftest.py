"""The service that runs here, one for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rag.index.azure.index import AzureIndex
from tests.rag.index.azure.opened import opened
from tests.search_service.service import SearchService


@pytest.fixture
async def service() -> AsyncIterator[SearchService]:
    async with SearchService().serving() as running:
        yield running


@pytest.fixture
async def index(service: SearchService) -> AsyncIterator[AzureIndex]:
    async with opened(service) as one:
        yield one
