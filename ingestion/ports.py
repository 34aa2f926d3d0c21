"""What ingestion needs from outside, as Protocols."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from ingestion.types import Document, Listing, SourcePage
from rag.types import EmbeddingUse


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


@runtime_checkable
class ListsChanges(Protocol):
    """Optional capability of a source: tells what changed without listing everything."""

    async def changes(self, watermark: str, again: Collection[str]) -> Listing:
        """Return the pages changed since a listing's ``watermark``, with ``within`` set.

        ``again`` are the ids of pages that failed before, to be looked at once more. Deletions,
        moves and restrictions may be missed: only ``list`` shows them for sure.
        Raises ingestion.errors.SourceUnavailable.
        """
        ...


@runtime_checkable
class FindsPages(Protocol):
    """Optional capability of a source: one page, by its address or id."""

    async def only(self, page: str) -> Listing:
        """Return one page and what is below it, with ``within`` set; empty when it is gone.

        Raises ingestion.errors.SourceUnavailable, and DocumentUnknown for what is no page of this
        source.
        """
        ...


@runtime_checkable
class ReadsAhead(Protocol):
    """Optional capability of a source: reading a page is mostly waiting for somebody's answer."""

    @property
    def at_once(self) -> int:
        """How many pages to read at once, at least 1."""
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


@runtime_checkable
class TellsUse(Protocol):
    """Optional capability of who is told: wants to know beforehand what embedding will take."""

    def expect(self, pages: int, use: EmbeddingUse) -> None:
        """Say what the pages that are to be written will about take."""
        ...
