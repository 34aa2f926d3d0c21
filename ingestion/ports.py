"""Protocols that ingestion requires of sources and progress displays."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from ingestion.types import Document, Listing, SourcePage
from rag.types import EmbeddingUse


class Source(Protocol):
    """Where pages come from: a folder, a wiki."""

    @property
    def space(self) -> str:
        """The only space of the index that this source fills."""
        ...

    @property
    def type(self) -> str:
        """The source type that chunks carry ("folder")."""
        ...

    @property
    def at_once(self) -> int:
        """How many pages to read concurrently; more than 1 if reading is mostly waiting."""
        ...

    async def list(self) -> Listing:
        """Return every page, without converting any.

        Raises ingestion.errors.SourceUnavailable when nothing can be listed.
        """
        ...

    async def read(self, page: SourcePage) -> Document:
        """Return one page converted. Raises ingestion.errors.PageUnreadable with the reason."""
        ...


@runtime_checkable
class IncrementalSource(Source, Protocol):
    """A source that can also list its changes, and find one page by its address or id."""

    async def changes(self, watermark: str, again: Collection[str]) -> Listing:
        """Return the pages changed since a listing's ``watermark``, with ``within`` set.

        ``again`` are the ids of pages that failed before, to be included once more. Deletions,
        moves and restrictions may be missed: only ``list`` is complete. Raises
        ingestion.errors.SourceUnavailable.
        """
        ...

    async def only(self, page: str) -> Listing:
        """Return one page and its descendants, with ``within`` set; empty when it is gone.

        Raises SourceUnavailable, and DocumentUnknown for what is no page of this source.
        """
        ...


class Progress(Protocol):
    """Receives the progress of a run."""

    def expect(self, pages: int, use: EmbeddingUse) -> None:
        """Report the estimated embedding usage of the pages that are to be written."""
        ...

    def begin(self, space: str, pages: int) -> None:
        """Report how many pages are to be written."""
        ...

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        """Report further pages and chunks as written."""
        ...

    def fail(self, page: str, reason: str) -> None:
        """Report at once that a page could not be read."""
        ...

    def end(self) -> None: ...
