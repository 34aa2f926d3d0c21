"""Reports, progress and the use of embedding models, as they are printed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ingestion.embedding_usage import added_use, use_between, use_line
from ingestion.folder import FolderSource
from ingestion.runs.worker import JsonProgress
from ingestion.runs.worker_pool import _forward
from ingestion.sync.report import NoProgress, ProgressBar, ProgressLines, progress_on, report_lines
from ingestion.sync.sync import sync
from ingestion.types import Finding, Report
from rag.ports import Embedder, Index
from rag.types import EVERYONE, EmbeddingUse
from tests.fakes.azure_index import open_test_index
from tests.fakes.model_server import VECTOR_LENGTH, embeds, open_test_embedder, refuses, texts_of
from tests.fakes.rag_ports import WordEmbedder
from tests.fakes.search_service.service import SearchService


def test_a_report_tells_counts_work_and_reasons() -> None:
    counts = "1 added, 1 changed, 1 removed, 1 with new readers, 4 unchanged, 1 skipped, 1 failed"
    lines = report_lines(
        Report(
            space="HR",
            added=("a.md",),
            changed=("b.md",),
            removed=("c.md",),
            readers_changed=("d.md",),
            unchanged=4,
            skipped=(Finding("x.png", "files of type .png are not read"),),
            failed=(Finding("y.pdf", "is encrypted"),),
            notes=(Finding("a.md", "not UTF-8"),),
            chunks=10,
            embedded=10,
            seconds=2.0,
            warnings=("No embedder",),
        )
    )

    assert lines == [
        f"Space HR: {counts}.",
        "10 chunks written, 10 embedded, in 2.0 s (5 chunks/s).",
        "Added: a.md",
        "Changed: b.md",
        "Removed: c.md",
        "New readers: d.md",
        "Skipped: x.png: files of type .png are not read",
        "Failed: y.pdf: is encrypted",
        "Note: a.md: not UTF-8",
        "Warning: No embedder",
    ]


def test_many_findings_with_one_reason_share_a_line() -> None:
    skipped = tuple(Finding(f"{number:02}.png", "no") for number in range(12))

    lines = report_lines(Report(space="HR", added=("a",) * 12, skipped=skipped))

    assert lines[2].endswith("a and 2 more")
    assert lines[3].startswith("Skipped: 12 pages: no: 00.png, 01.png")
    assert lines[3].endswith("09.png and 2 more")


def test_a_dry_run_says_would() -> None:
    counts, *names = report_lines(Report(space="HR", added=("a",), dry_run=True))

    assert counts.startswith("Space HR: would be 1 added, 0 changed, ")
    assert names == ["Added: a"]


def test_a_name_cannot_forge_a_line() -> None:
    (line,) = report_lines(Report(space="HR", failed=(Finding("a\nFailed: b", "x"),)))[2:]

    assert line == "Failed: 'a\\nFailed: b': x"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_and_anything_else_lines() -> None:
    assert isinstance(progress_on(Terminal()), ProgressBar)
    assert isinstance(progress_on(io.StringIO()), ProgressLines)


def test_the_bar_shows_pages_chunks_rate_and_time_left() -> None:
    stream = Terminal()
    bar = ProgressBar(stream)

    bar.begin("HR", 4)
    bar.advance(chunks=10)
    bar.advance(pages=1)
    shown = bar_text(bar)
    bar.advance(pages=3)
    bar.end()

    assert "HR  25%" in shown
    assert "1/4 pages, 10 chunks," in shown
    assert "chunks/s" in shown
    assert "left" in shown


def bar_text(bar: ProgressBar) -> str:
    return str(bar._bar)  # noqa: SLF001  # tqdm draws too seldom for a test to see


def test_nothing_to_do_shows_no_bar() -> None:
    stream = Terminal()
    bar = ProgressBar(stream)

    bar.begin("HR", 0)
    bar.advance(pages=1)
    bar.end()

    assert stream.getvalue() == ""


def test_lines_are_written_every_few_seconds() -> None:
    stream = io.StringIO()
    lines = ProgressLines(stream, seconds=0)

    lines.begin("HR", 4)
    lines.advance(chunks=8)
    lines.advance(pages=1)
    lines.end()

    first, second = stream.getvalue().splitlines()
    assert first.startswith("HR: 0/4 pages, 8 chunks, ")
    assert "left" not in first
    assert second.startswith("HR: 1/4 pages, 8 chunks, ")
    assert second.endswith(" left")


def test_lines_are_not_written_too_often() -> None:
    stream = io.StringIO()
    lines = ProgressLines(stream, seconds=60)

    lines.begin("HR", 1)
    lines.advance(pages=1)

    assert stream.getvalue() == ""


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
        open_test_embedder(embeds(VECTOR_LENGTH)) as (embedder, _),
        SearchService().serving() as service,
        open_test_index(service, embedder) as index,
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
    assert again.use == EmbeddingUse(tokens=27, requests=2), "the first batch is a small one"


async def test_a_text_that_was_cut_is_a_warning_of_the_report(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("# Long\n\n" + "A sentence of some words. " * 30)

    def too_long(body: dict[str, object]) -> bool:
        return any(len(text) > 400 for text in texts_of(body))

    picky = refuses(too_long, "maximum context length is 100 tokens", embeds(VECTOR_LENGTH))
    async with (
        open_test_embedder(picky) as (embedder, _),
        SearchService().serving() as service,
        open_test_index(service, embedder) as index,
    ):
        report = await synced(tmp_path, index, embedder)

    assert report.use is not None
    assert report.use.cut >= 1
    assert any("EMBEDDING_MAX_TOKENS" in warning for warning in report.warnings)


async def test_an_embedder_that_costs_nothing_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "vpn.md").write_text("# VPN\n\nText.\n")
    embedder = WordEmbedder()
    async with SearchService().serving() as service, open_test_index(service, embedder) as index:
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
        open_test_embedder(embeds(VECTOR_LENGTH)) as (embedder, _),
        SearchService().serving() as service,
        open_test_index(service, embedder) as index,
    ):
        source = FolderSource(tmp_path, space="IT", readers=ALL)
        await sync(source, index, embedder, tenant="acme", progress=ProgressLines(stream))

    assert stream.getvalue().startswith(
        "Embedding 3 pages costs tokens. The number of tokens can be estimated once"
    )


def test_a_worker_tells_its_server_what_embedding_will_take() -> None:
    said = io.StringIO()
    JsonProgress(said).begin("HR", 2, EmbeddingUse(500, 0, 10))
    shown = io.StringIO()

    assert _forward(json.loads(said.getvalue()), ProgressLines(shown)) is None
    assert "2 pages would take about 500 tokens, less than $0.01." in shown.getvalue()
