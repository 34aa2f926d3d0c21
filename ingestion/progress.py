"""How a run shows that it gets on: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import time
from typing import NoReturn, TextIO

from tqdm import tqdm

from ingestion.embedding_use import use_line
from ingestion.ports import Progress
from rag.types import EmbeddingUse

_FORMAT = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} pages{postfix}, {remaining} left"
_SECONDS_BETWEEN_LINES = 5.0


class Silent:
    """Shows nothing."""

    def begin(self, space: str, pages: int) -> None: ...

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None: ...

    def fail(self, page: str, reason: str) -> None: ...

    def end(self) -> None: ...


class Bar:
    """One line that redraws itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: tqdm[NoReturn] | None = None
        self._chunks = 0
        self._started = 0.0

    def expect(self, pages: int, use: EmbeddingUse) -> None:
        _say_expected(self._stream, pages, use)

    def begin(self, space: str, pages: int) -> None:
        self._chunks, self._started = 0, time.monotonic()
        if pages:
            self._bar = tqdm(
                total=pages, desc=space, file=self._stream, bar_format=_FORMAT, leave=False
            )

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        if self._bar is None:
            return
        self._chunks += chunks
        rate = self._chunks / max(time.monotonic() - self._started, 0.001)
        self._bar.set_postfix_str(f"{self._chunks} chunks, {rate:.0f} chunks/s", refresh=False)
        self._bar.update(pages)

    def fail(self, page: str, reason: str) -> None: ...

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Lines:
    """A line every few seconds, for logs."""

    def __init__(self, stream: TextIO, seconds: float = _SECONDS_BETWEEN_LINES) -> None:
        self._stream = stream
        self._seconds = seconds
        self._space = ""
        self._total = self._pages = self._chunks = 0
        self._started = self._last = 0.0

    def expect(self, pages: int, use: EmbeddingUse) -> None:
        _say_expected(self._stream, pages, use)

    def begin(self, space: str, pages: int) -> None:
        self._space, self._total, self._pages, self._chunks = space, pages, 0, 0
        self._started = self._last = time.monotonic()

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        self._pages += pages
        self._chunks += chunks
        now = time.monotonic()
        if now - self._last >= self._seconds:
            self._last = now
            print(self._line(now - self._started), file=self._stream, flush=True)

    def fail(self, page: str, reason: str) -> None: ...

    def end(self) -> None: ...

    def _line(self, elapsed: float) -> str:
        rate = self._chunks / max(elapsed, 0.001)
        line = (
            f"{self._space}: {self._pages}/{self._total} pages, "
            f"{self._chunks} chunks, {rate:.0f} chunks/s"
        )
        if self._pages:
            left = round(elapsed / self._pages * (self._total - self._pages))
            line += f", {left // 60}:{left % 60:02d} left"
        return line


def _say_expected(stream: TextIO, pages: int, use: EmbeddingUse) -> None:
    line = use_line(use, pages=pages, dry_run=True)
    if line:
        print(line, file=stream, flush=True)


def progress_on(stream: TextIO) -> Progress:
    """Return what fits a stream."""
    return Bar(stream) if stream.isatty() else Lines(stream)
