"""The settings decide which index and embedder are opened, for every process alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rag.config import SearchSettings
from rag.errors import IndexMismatch, IndexUnavailable, ModelUnavailable
from rag.factory import open_embedder, open_search_index
from rag.models.local_embedder import LocalEmbedder
from rag.types import EVERYONE, Question
from tests.fakes.azure_index import INDEX_NAME, settings_of
from tests.fakes.model_server import KEY, VECTOR_LENGTH, OpenAIServer, embeds, fails, openai_server
from tests.fakes.passages import EMBEDDER, draft
from tests.fakes.search_service.service import SearchService


def settings(data_dir: Path, changes: Mapping[str, object] | None = None) -> SearchSettings:
    return SearchSettings.model_validate({"FRONTDESK_DATA_DIR": data_dir, **(changes or {})})


def served(server: OpenAIServer) -> Mapping[str, object]:
    return {"embedding_model": "small", "embedding_base_url": server.url, "embedding_api_key": KEY}


async def test_without_settings_the_installed_embedder_and_one_file_are_opened(
    tmp_path: Path,
) -> None:
    async with open_embedder(settings(tmp_path)) as (embedder, trouble):
        assert isinstance(embedder, LocalEmbedder)
        assert trouble == ""
        index = await open_search_index(settings(tmp_path / "new"), embedder, write=True)
        await index.close()

    assert (tmp_path / "new" / "index.sqlite").exists()


async def test_a_file_that_is_not_there_stays_so_when_nothing_is_to_be_written(
    tmp_path: Path,
) -> None:
    index = await open_search_index(settings(tmp_path / "none"), EMBEDDER, write=False)
    assert await index.spaces("default") == {}
    await index.close()

    assert not (tmp_path / "none").exists()


async def test_a_model_that_is_set_embeds(tmp_path: Path) -> None:
    async with (
        openai_server(embeds(VECTOR_LENGTH)) as server,
        open_embedder(settings(tmp_path, served(server))) as (embedder, trouble),
    ):
        assert embedder is not None
        assert (embedder.name, trouble) == (f"small@{VECTOR_LENGTH}", "")


async def test_a_model_that_is_set_and_refuses_is_no_reason_to_go_on_without(
    tmp_path: Path,
) -> None:
    async with openai_server(fails(401)) as server:
        with pytest.raises(ModelUnavailable, match="EMBEDDING_API_KEY"):
            async with open_embedder(settings(tmp_path, served(server))):
                pass


async def test_an_index_built_by_another_embedder_is_refused_with_the_cure(
    tmp_path: Path,
) -> None:
    built = await open_search_index(settings(tmp_path), EMBEDDER, write=True)
    stored = draft("handbook", "Text.")
    await built.upsert_page(stored.page, stored.chunks, await EMBEDDER.embed(["Text."]))
    await built.close()
    async with (
        openai_server(embeds(VECTOR_LENGTH)) as server,
        open_embedder(settings(tmp_path, served(server))) as (embedder, _),
    ):
        with pytest.raises(IndexMismatch, match=r"words@1.*small@8"):
            await open_search_index(settings(tmp_path), embedder, write=True)


async def test_an_endpoint_of_azure_is_what_is_opened() -> None:
    async with SearchService().serving() as service:
        azure = settings_of(service)
        written = await open_search_index(azure, EMBEDDER, write=True)
        assert await written.spaces("default") == {}
        await written.close()

        assert service.documents(INDEX_NAME)


async def test_a_server_is_there_before_its_index_in_azure_is() -> None:
    async with SearchService().serving() as service:
        azure = settings_of(service)
        read = await open_search_index(azure, EMBEDDER, write=False)
        question = Question("vpn", "default")
        with pytest.raises(IndexUnavailable, match="run the ingestion"):
            await read.search(question, frozenset({EVERYONE}), 5)

        written = await open_search_index(azure, EMBEDDER, write=True)
        await written.close()
        assert await read.search(question, frozenset({EVERYONE}), 5) == ()
        await read.close()
