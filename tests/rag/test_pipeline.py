"""A question is searched for by its words when nothing embeds it."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from rag.errors import ModelUnavailable
from rag.extractive import ExtractiveComposer
from rag.index.embedded import fingerprint_of, open_index
from rag.pipeline import Pipeline, Scope
from rag.types import EVERYONE, Vectors
from tests.contract.pages import draft
from tests.fakes import WordEmbedder


class Away(WordEmbedder):
    async def embed_query(self, text: str) -> Vectors:
        raise ModelUnavailable("The model 'small' answered 503 and is busy or broken.")


@pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
async def test_an_embedder_that_is_away_costs_the_vectors_and_not_the_answer(
    tmp_path: Path, *, away: bool
) -> None:
    embedder = Away() if away else WordEmbedder()
    stored = draft("vpn", "Error 809 means that UDP port 4500 is blocked.")
    index = await open_index(tmp_path / "index.sqlite", fingerprint_of(embedder))
    vectors = await embedder.embed([chunk.text for chunk in stored.chunks])
    await index.upsert_page(stored.page, stored.chunks, vectors)
    pipeline = Pipeline(index, embedder, ExtractiveComposer(None))

    with capture_logs() as logs:
        found = await pipeline.retrieve("error 809", Scope("acme", frozenset({EVERYONE})))
    await index.close()

    (passage,) = found.passages
    assert "keyword" in passage.signals
    assert ("vector" in passage.signals) is not away
    assert [each["event"] for each in logs] == (["retrieval.by_words_alone"] if away else [])
