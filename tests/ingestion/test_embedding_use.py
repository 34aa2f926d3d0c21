"""What embedding takes is told before and after, from what a real server counted."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ingestion.embedding_usage import added_use, use_between, use_line
from ingestion.runs.worker import JsonProgress
from ingestion.runs.worker_pool import _relayed
from ingestion.sources.folder import FolderSource
from ingestion.sync.report import NoProgress, ProgressLines, report_lines
from ingestion.sync.sync import sync
from ingestion.types import Report
from rag.ports import Embedder, Index
from rag.types import EVERYONE, EmbeddingUse
from tests.fakes import WordEmbedder
from tests.rag.index.azure.opened import opened
from tests.rag.models.embedding_server import LENGTH, embedding, embeds, refuses, texts_of
from tests.search_service.service import SearchService

ALL = (frozenset({EVERYONE}),)


async def synced(
    root: Path, index: Index, embedder: Embedder | None, *, dry_run: bool = False
) -> Report:
    source = FolderSource(root, space="IT", readers=ALL)
    return await sync(
        source, index, embedder, tenant="acme", dry_run=dry_run, progress=NoProgress()
    )


async def test_a_dry_run_tells_what_embedding_would_take_and_a_run_what_it_took(
    tmp_path: Path,
) -> None:
    (tmp_path / "vpn.md").write_text("# VPN\n\nError 809: allow UDP 4500.\n")
    async with (
        embedding(embeds(LENGTH)) as (embedder, _),
        SearchService().serving() as service,
        opened(service, embedder) as index,
    ):
        unknown = await synced(tmp_path, index, embedder, dry_run=True)
        first = await synced(tmp_path, index, embedder)
        for number in range(9):
            (tmp_path / f"page-{number}.md").write_text(f"# Page {number}\n\nText.\n")
        planned = await synced(tmp_path, index, embedder, dry_run=True)
        again = await synced(tmp_path, index, embedder)

    assert unknown.use == EmbeddingUse()
    assert first.use == EmbeddingUse(tokens=3, requests=1)
    assert "Embedding took 3 tokens in 1 request; their price is not known." in report_lines(first)
    assert planned.use is not None
    assert planned.use.requests == 0
    assert planned.use.tokens >= 9 * 3
    (line,) = (line for line in report_lines(planned) if line.startswith("Embedding"))
    assert "9 pages would take about" in line
    assert again.use == EmbeddingUse(tokens=27, requests=1)


async def test_a_text_that_was_cut_is_a_warning_of_the_report(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("# Long\n\n" + "A sentence of some words. " * 30)

    def too_long(body: dict[str, object]) -> bool:
        return any(len(text) > 400 for text in texts_of(body))

    picky = refuses(too_long, "maximum context length is 100 tokens", embeds(LENGTH))
    async with (
        embedding(picky) as (embedder, _),
        SearchService().serving() as service,
        opened(service, embedder) as index,
    ):
        report = await synced(tmp_path, index, embedder)

    assert report.use is not None
    assert report.use.cut >= 1
    assert any("EMBEDDING_MAX_TOKENS" in warning for warning in report.warnings)


async def test_an_embedder_that_costs_nothing_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "vpn.md").write_text("# VPN\n\nText.\n")
    embedder = WordEmbedder()
    async with SearchService().serving() as service, opened(service, embedder) as index:
        report = await synced(tmp_path, index, embedder)

    assert report.use is None
    assert not [line for line in report_lines(report) if "tokens" in line]


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (EmbeddingUse(1_500_000, 80, 30_000), "1,500,000 tokens in 80 requests, $0.03."),
        (EmbeddingUse(1_500, 1, 30), "1,500 tokens in 1 request, less than $0.01."),
        (EmbeddingUse(1_500, 1, None), "their price is not known"),
    ],
)
def test_the_price_is_said_in_dollars(use: EmbeddingUse, said: str) -> None:
    assert said in use_line(use, pages=1, dry_run=False)


def test_what_was_taken_is_the_difference_of_two_looks() -> None:
    before, after = EmbeddingUse(100, 2, 2, 1), EmbeddingUse(350, 5, 7, 1)

    assert use_between(before, after) == EmbeddingUse(250, 3, 5, 0)
    assert use_between(EmbeddingUse(), after) == EmbeddingUse(350, 5, 7, 1)
    assert use_between(EmbeddingUse(5, 1, None), after) == EmbeddingUse(345, 4, None, 1)
    assert use_between(None, None) is None


def test_two_runs_together_cost_what_both_do() -> None:
    one, other = EmbeddingUse(100, 2, 2), EmbeddingUse(50, 1, 1)

    assert added_use(one, other) == EmbeddingUse(150, 3, 3)
    assert added_use(one, None) == one
    assert added_use(one, EmbeddingUse(50, 1, None)) == EmbeddingUse(150, 3, None)


async def test_what_embedding_will_take_is_said_before_the_first_page(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"page-{number}.md").write_text(f"# Page {number}\n\nText.\n")
    stream = io.StringIO()
    async with (
        embedding(embeds(LENGTH)) as (embedder, _),
        SearchService().serving() as service,
        opened(service, embedder) as index,
    ):
        source = FolderSource(tmp_path, space="IT", readers=ALL)
        await sync(source, index, embedder, tenant="acme", progress=ProgressLines(stream))

    assert stream.getvalue().startswith("Embedding 3 pages takes tokens; how many can be told once")


def test_a_worker_tells_its_server_what_embedding_will_take() -> None:
    said = io.StringIO()
    JsonProgress(said).expect(2, EmbeddingUse(500, 0, 10))
    shown = io.StringIO()

    assert _relayed(json.loads(said.getvalue()), ProgressLines(shown)) is None
    assert "2 pages would take about 500 tokens, less than $0.01." in shown.getvalue()
