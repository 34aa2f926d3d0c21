"""The fake Azure AI Search, one for each test, and our index over it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rag.index.azure.index import AzureIndex
from tests.fakes.azure_index import open_test_index
from tests.fakes.search_service.service import SearchService


@pytest.fixture
async def service() -> AsyncIterator[SearchService]:
    async with SearchService().serving() as running:
        yield running


@pytest.fixture
async def index(service: SearchService) -> AsyncIterator[AzureIndex]:
    async with open_test_index(service) as one:
        yield one
