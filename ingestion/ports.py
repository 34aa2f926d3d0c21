"""What ingestion needs from outside, as Protocols."""

from __future__ import annotations

from typing import Protocol

from ingestion.types import Document, Listing, SourcePage


class Source(Protocol):
    """Where pages come from: a folder, a wiki."""

    @property
    def space(self) -> str:
        """The space of the index that this source fills, alone."""
        ...

    @property
    def type(self) -> str:
        """The kind of source, as chunks carry it ("folder")."""
        ...

    async def list(self) -> Listing:
        """Return every page, without converting any.

        Raises ingestion.errors.SourceUnavailable when nothing can be listed.
        """
        ...

    async def read(self, page: SourcePage) -> Document:
        """Return one page converted. Raises ingestion.errors.PageUnreadable with the reason."""
        ...


class Progress(Protocol):
    """Who is told how a run gets on."""

    def begin(self, space: str, pages: int) -> None:
        """Say how many pages are to be written."""
        ...

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        """Add pages and chunks that are done."""
        ...

    def fail(self, page: str, reason: str) -> None:
        """Say that a page could not be read, as soon as that is known."""
        ...

    def end(self) -> None: ...
