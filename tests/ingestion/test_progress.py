from __future__ import annotations

import io

from ingestion.sync.report import ProgressBar, ProgressLines, progress_on


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
