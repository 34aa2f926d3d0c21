"""Values passed from a source to the index, and the protocols of sources and progress displays.

All values are frozen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from rag.types import EmbeddingUse, Readers


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 (outermost) to 6. ``page`` counts from 1 in paged documents."""

    level: int
    text: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; its line breaks are those visible to a reader."""

    text: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list; each item is Markdown with its marker, nested content indented below."""

    items: tuple[str, ...]
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of clean cells; ``header`` is empty where the source has none."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """Verbatim lines; ``language`` is "" when unknown."""

    text: str
    language: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """Running text that the page quotes or sets apart."""

    text: str
    page: int | None = None


Block = Heading | Paragraph | ItemList | Table | Code | Quote


@dataclass(frozen=True, slots=True)
class Document:
    """A converted page.

    ``notes`` describe problems of the source. ``updated_by`` is the name of the last editor, ""
    when unknown. The page's address comes from the source, not from the text.
    """

    title: str
    blocks: tuple[Block, ...]
    labels: tuple[str, ...] = ()
    updated_at: datetime | None = None
    notes: tuple[str, ...] = ()
    updated_by: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A remark about one page (or folder): why it was left out, or a problem in it."""

    page: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page that a source offers, before it is read.

    ``version`` is a fingerprint of everything that shapes the page's document and its ancestors,
    without readers. The part after a ``.`` identifies the text of other pages that this one shows.
    ``ancestors`` are titles, outermost first.

    ``old_text_readers`` may read the indexed text of the page while it still shows text of other
    pages that this version does not; None: the page's readers.
    """

    id: str
    version: str
    readers: Readers
    url: str
    ancestors: tuple[str, ...] = ()
    old_text_readers: Readers | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The content of a source.

    ``failed`` pages exist and cannot be read now, nor can their attachments and subpages;
    ``failed`` ids that end in ``/`` stand for those alone. Their indexed state is kept. ``skipped``
    is left out on purpose.

    ``within`` None: this is the whole space. Else only these pages and those below them (``ID/…``)
    were listed; nothing else is removed. ``watermark`` is to be passed to
    ingestion.types.IncrementalSource the next time; "" where a source has none. ``sure``: the
    source is our own, so that an empty listing is reliable.
    """

    pages: tuple[SourcePage, ...]
    skipped: tuple[Finding, ...] = ()
    failed: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    within: tuple[str, ...] | None = None
    watermark: str = ""
    sure: bool = False


Extent = Literal["all", "changes", "page"]
"""How much of a space a run reads: all of it, the changes since the last run, one page."""


@dataclass(frozen=True, slots=True)
class Loss:
    """How many of the things of one kind in a space would be removed."""

    removed: int
    indexed: int
    kind: Literal["pages", "attachments"] = "pages"


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference between source and index: what a run will do.

    ``removed`` is out of ``indexed`` pages. ``losses`` count pages, and separately the attachments
    of pages that stay.
    """

    added: tuple[SourcePage, ...]
    changed: tuple[SourcePage, ...]
    readers_changed: tuple[SourcePage, ...]
    removed: tuple[str, ...]
    unchanged: int
    indexed: int
    losses: tuple[Loss, ...] = ()

    @property
    def to_write(self) -> tuple[SourcePage, ...]:
        """Return the pages to convert and embed, in source order."""
        return tuple(sorted((*self.added, *self.changed), key=lambda page: page.id))


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, or with ``dry_run`` what it would have done. Page ids, in order.

    ``for_nobody`` is how many of the listed pages nobody may read. ``would_stop`` is, for a dry
    run, why a real one would stop; "" if it would not. ``watermark`` and ``within`` are the
    listing's. ``use`` is the embedding usage, for a dry run its estimate; None where there is no
    cost.
    """

    space: str
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    readers_changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    for_nobody: int = 0
    skipped: tuple[Finding, ...] = ()
    failed: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    chunks: int = 0
    embedded: int = 0
    seconds: float = 0.0
    dry_run: bool = False
    warnings: tuple[str, ...] = field(default=())
    would_stop: str = ""
    extent: Extent = "all"
    watermark: str = ""
    within: tuple[str, ...] | None = None
    use: EmbeddingUse | None = None


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


@dataclass(frozen=True, slots=True)
class PublishableAnswer:
    """A reviewed answer that is to become a page of the wiki, or to replace the page that it was.

    ``id`` is the answer's, and recognizes its page. ``text`` is Markdown. ``readers`` are the only
    ones who may read the page. ``url`` is that of the page as published before; "" at first.
    """

    id: str
    question: str
    text: str
    readers: Readers
    url: str = ""


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

    async def list_page(self, page: str) -> Listing:
        """Return one page and its descendants, with ``within`` set; empty when it is gone.

        Raises SourceUnavailable, and DocumentUnknown for what is no page of this source.
        """
        ...


class Progress(Protocol):
    """Receives the progress of a run."""

    def begin(self, space: str, pages: int, use: EmbeddingUse | None = None) -> None:
        """Report how many pages are to be written, and the estimated embedding usage of that."""
        ...

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        """Report further pages and chunks as written."""
        ...

    def fail(self, page: str, reason: str) -> None:
        """Report at once that a page could not be read."""
        ...

    def end(self) -> None: ...
