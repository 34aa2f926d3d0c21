"""The service, and the vendor's own clients at it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from tests.search_service.example import index_of
from tests.search_service.service import SearchService


@pytest.fixture
async def service() -> AsyncIterator[SearchService]:
    async with SearchService().serving() as running:
        yield running


@pytest.fixture
async def admin(service: SearchService) -> AsyncIterator[SearchIndexClient]:
    key = AzureKeyCredential(service.access.admin_key)
    async with SearchIndexClient(service.url, key) as client:
        yield client


@pytest.fixture
async def client(service: SearchService, admin: SearchIndexClient) -> AsyncIterator[SearchClient]:
    """A client of the index ``kb``, which exists and is empty."""
    await admin.create_or_update_index(index_of("kb"))
    key = AzureKeyCredential(service.access.admin_key)
    async with SearchClient(service.url, "kb", key) as opened:
        yield opened
