"""Lists longer than one answer, of a service that compares texts and of one that does not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rag.errors import IndexUnavailable
from rag.index.azure import queries
from rag.index.azure.connection import BAD_REQUEST
from rag.index.azure.index import AzureIndex
from tests.contract.pages import Draft, put
from tests.rag.index.azure.opened import opened
from tests.search_service.service import SearchService

PAGES = [f"page-{number}.md" for number in range(7)]


@pytest.fixture(params=[True, False], ids=["ranges", "no ranges"])
async def service(request: pytest.FixtureRequest) -> AsyncIterator[SearchService]:
    async with SearchService(takes_text_ranges=request.param).serving() as running:
        yield running


@pytest.fixture
async def index(
    service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AzureIndex]:
    """An index of seven pages, of which three come at once."""
    async with opened(service) as one:
        for page in PAGES:
            await put(one, Draft(page, ("One", "Two")))
        monkeypatch.setattr(queries, "PAGE_SIZE", 3)
        yield one


@pytest.mark.mended(id="confluence-6")
async def test_a_long_list_is_read_to_its_end(index: AzureIndex) -> None:
    assert sorted(await index.pages("acme", "it")) == PAGES
    after = await index.page_summaries("acme", "it", None, after=PAGES[0], limit=5)
    assert [page.id for page in after] == PAGES[1:6]


@pytest.mark.mended(id="confluence-6")
async def test_a_refused_range_is_asked_for_once(service: SearchService, index: AzureIndex) -> None:
    for _ in range(3):
        await index.pages("acme", "it")

    refused = sum(request.status == BAD_REQUEST for request in service.requests)
    assert refused == (0 if service.takes_text_ranges else 1)


@pytest.mark.mended(id="confluence-6")
async def test_a_list_that_cannot_be_read_to_its_end_is_not_cut_short(
    service: SearchService, index: AzureIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_SKIPPED", 3)

    if service.takes_text_ranges:
        assert len(await index.pages("acme", "it")) == len(PAGES)
        return
    with pytest.raises(IndexUnavailable, match="CONFLUENCE_LABELS"):
        await index.pages("acme", "it")
