"""The values that pass from a source to the index; all frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from rag.types import EmbeddingUse, Readers


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 (outermost) to 6. ``page`` counts from 1 in paged documents."""

    level: int
    text: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; a line break in it is one the reader sees."""

    text: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list; each item is Markdown with its marker, nested content indented below it."""

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
    """A page as its reader sees it.

    ``notes`` say what was odd about the source. ``updated_by`` is the name of who changed it
    last, "" when unknown. Where the page is found is the source's to say, not the text's.
    """

    title: str
    blocks: tuple[Block, ...]
    labels: tuple[str, ...] = ()
    updated_at: datetime | None = None
    notes: tuple[str, ...] = ()
    updated_by: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to tell about one page (or folder): why it was left out, or what was odd."""

    page: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page that a source offers, before it is read.

    ``version`` is a fingerprint of all that shapes the page's document and its place; readers
    are no part of it. What follows a ``.`` in it stands for text of other pages that this one
    shows. ``ancestors`` are titles, outermost first.

    ``old_text_readers`` may read what the index has of the page while that still shows text of
    other pages that this version does not; None: whoever may read the page.
    """

    id: str
    version: str
    readers: Readers
    url: str
    ancestors: tuple[str, ...] = ()
    old_text_readers: Readers | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What a source holds.

    ``failed`` pages exist and cannot be read now, nor what hangs on them; ``failed`` ids that end
    in ``/`` stand for what is below alone. What the index has of them is kept. ``skipped`` is left
    out on purpose.

    ``within`` None: this is the whole space. Else only these pages, and what is below them
    (``ID/…``), were looked at; nothing else is removed. ``watermark`` is what
    ingestion.ports.ListsChanges wants to be told the next time; "" where a source has none.
    ``sure``: the source is our own, so that no page at all means just that.
    """

    pages: tuple[SourcePage, ...]
    skipped: tuple[Finding, ...] = ()
    failed: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    within: tuple[str, ...] | None = None
    watermark: str = ""
    sure: bool = False


Extent = Literal["all", "changes", "page"]
"""How much of a space a run looks at: all of it, what changed since the last run, one page."""


@dataclass(frozen=True, slots=True)
class Loss:
    """So many of so many things of one kind in a space would be removed."""

    removed: int
    indexed: int
    kind: Literal["pages", "attachments"] = "pages"


@dataclass(frozen=True, slots=True)
class Plan:
    """Source minus index: what a run will do. ``removed`` is out of ``indexed`` pages.

    ``losses`` count pages, and apart from them what hangs on pages that stay.
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
        """The pages to convert and embed, in source order."""
        return tuple(sorted((*self.added, *self.changed), key=lambda page: page.id))


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, or with ``dry_run`` what it would have done. Page ids, in order.

    ``for_nobody`` is how many of the pages that were looked at nobody may read.
    ``would_stop`` is, for a dry run, why a real one would stop; "" if it would not. ``watermark``
    and ``within`` are the listing's. ``use`` is what embedding took, for a dry run what it would
    take; None where that costs nothing but time.
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
