"""What the doctor is told of a service: by real requests, and nothing is changed by them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rag.index.azure.diagnostics import Check, check_service
from tests.rag.index.azure.opened import NAME, QUICK, opened, settings_of
from tests.search_service.service import SearchService


@pytest.fixture
async def service() -> AsyncIterator[SearchService]:
    async with SearchService().serving() as serving:
        yield serving


async def checked(service: SearchService, **parts: object) -> dict[str, Check]:
    checks = await check_service(settings_of(service, **parts), policy=QUICK.policy)  # type: ignore[arg-type]  # a test's settings
    return {each.name: each for each in checks}


async def test_with_every_right_all_is_tried_and_nothing_changed(service: SearchService) -> None:
    async with opened(service) as index:
        await index.fingerprint()
    before = service.documents(NAME)

    checks = await checked(service, azure_search_semantic=True)

    assert {name: each.works for name, each in checks.items()} == {
        "search": True,
        "lists": True,
        "semantic ranker": True,
        "definition": True,
        "writing": True,
    }
    assert f"index {NAME}-v1" in checks["search"].detail
    assert service.documents(NAME) == before


async def test_who_only_answers_is_told_the_roles_that_indexing_needs(
    service: SearchService,
) -> None:
    async with opened(service):
        pass

    checks = await checked(service, key=service.access.query_key)

    assert checks["search"].works
    assert checks["definition"].works is None
    assert "`Search Service Contributor`" in checks["definition"].detail
    assert checks["writing"].works is None
    assert "`Search Index Data Contributor`" in checks["writing"].detail


async def test_an_index_that_is_not_there_is_said_with_the_cure(service: SearchService) -> None:
    checks = await checked(service)

    assert checks["search"].works is False
    assert "run the ingestion" in checks["search"].detail
    assert "semantic ranker" not in checks


async def test_a_wrong_key_is_said_without_it(service: SearchService) -> None:
    checks = await checked(service, key="a-wrong-key")

    assert checks["search"].works is False
    assert "AZURE_SEARCH_KEY" in checks["search"].detail
    assert all("a-wrong-key" not in each.detail for each in checks.values())


async def test_a_service_that_is_away_is_said(service: SearchService) -> None:
    settings = settings_of(service)
    away = settings.model_copy(update={"azure_search_endpoint": "http://127.0.0.1:9"})

    checks = await check_service(away, policy=QUICK.policy)

    assert {each.works for each in checks} == {False}
    assert "AZURE_SEARCH_ENDPOINT" in checks[0].detail


async def test_a_token_does_not_go_over_plain_http(service: SearchService) -> None:
    settings = settings_of(service).model_copy(update={"azure_search_key": None})

    (check,) = await check_service(settings)

    assert check.works is False
    assert "https://" in check.detail


async def test_without_an_endpoint_there_is_nothing_to_check(service: SearchService) -> None:
    settings = settings_of(service).model_copy(update={"azure_search_endpoint": None})

    assert await check_service(settings) == ()


@pytest.mark.mended(id="confluence-6")
async def test_a_service_that_compares_no_texts_is_said_to_have_a_limit() -> None:
    async with SearchService(takes_text_ranges=False).serving() as service:
        async with opened(service):
            pass

        checks = await checked(service)

    assert checks["search"].works
    assert checks["lists"].works is None
    assert "101,000" in checks["lists"].detail
