"""A Document to Chunks: split at headings, sized by what the embedder sees. Pure."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, replace

from ingestion.pieces import Limits, Piece, pack, pieces_of
from ingestion.sections import Passage, passages_of, sections_of, shown_headings
from ingestion.sentences import Size
from ingestion.types import Document, Paragraph, SourcePage
from rag.embedding import embedding_text
from rag.ports import Embedder
from rag.types import Chunk

CHUNKER = 1
"""Counts up whenever the same document gives other chunks."""

_SEEN_WITHOUT_EMBEDDER = 256
_TARGET_SHARE = 0.78
_LARGEST_TARGET = 400
_MOST_SHARE = 1.28
_CRUMB_SHARE = 0.25
_LONGEST_CRUMB = 120
_LEAST_CRUMBS = 3
_CHARACTERS_PER_TOKEN_AT_LEAST = 8
_SEPARATORS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page belongs."""

    tenant: str
    space: str
    source_type: str


@dataclass(frozen=True, slots=True)
class Ruler:
    """Measures text in the embedder's tokens and says how large a chunk may be in all."""

    size: Size
    target: int
    most: int


def ruler(embedder: Embedder | None) -> Ruler:
    """Return the sizes that fit an embedder; without one, those of a small embedder by guess."""
    seen = embedder.max_tokens if embedder else _SEEN_WITHOUT_EMBEDDER
    target = min(_LARGEST_TARGET, round(seen * _TARGET_SHARE))
    count = embedder.count_tokens if embedder else _guess
    marks = count("")
    bare = Chunk("", "", "", "", 0, "", "", (), "", "", (), "", "")

    @functools.lru_cache(maxsize=8192)
    def size(text: str) -> int:
        shown = embedding_text(replace(bare, text=text))
        return max(count(shown) - marks, len(text) // _CHARACTERS_PER_TOKEN_AT_LEAST)

    return Ruler(size, target, min(seen - marks, round(target * _MOST_SHARE)))


def chunk_document(
    document: Document, page: SourcePage, place: Place, ruler: Ruler
) -> tuple[Chunk, ...]:
    """Return a document's chunks in page order; a document without text has none.

    Every word of the document is in the text or the breadcrumb of some chunk.
    """
    chunks: list[Chunk] = []
    roots = (place.space, *page.ancestors, document.title)
    sections = sections_of(document.blocks, document.title)
    for passage in passages_of(sections, ruler.size, ruler.target):
        breadcrumb = _breadcrumb(roots, passage.path, ruler)
        known = (*passage.path,) if chunks else (document.title, *passage.path)
        left_out = tuple(heading for heading in known if heading not in breadcrumb)
        limits = _limits(breadcrumb, ruler)
        for text in _texts(passage, document.title, left_out, ruler, limits):
            chunks.append(
                Chunk(
                    id=chunk_id(place, page.id, len(chunks)),
                    tenant=place.tenant,
                    space=place.space,
                    page_id=page.id,
                    ordinal=len(chunks),
                    title=document.title,
                    section=passage.path[-1] if passage.path else "",
                    breadcrumb=breadcrumb,
                    text=text,
                    url=page.url,
                    readers=page.readers,
                    source_type=place.source_type,
                    source_id=page.id,
                    document_page=passage.page,
                    updated_at=document.updated_at,
                    labels=document.labels,
                    updated_by=document.updated_by,
                )
            )
    return tuple(chunks)


def chunk_id(place: Place, page_id: str, ordinal: int) -> str:
    """Return an id that stays the same from run to run: 24 hex digits of the page, and a number."""
    key = f"{place.tenant}\0{place.space}\0{page_id}".encode(errors="surrogatepass")
    return f"{hashlib.blake2b(key, digest_size=12).hexdigest()}-{ordinal}"


def _texts(
    passage: Passage, title: str, left_out: tuple[str, ...], ruler: Ruler, limits: Limits
) -> list[str]:
    pieces: list[Piece] = []
    for headings, section in shown_headings(passage):
        lines = (*left_out, *headings)
        left_out = ()
        if not section.blocks and not lines:
            lines = section.path[-1:] or (title,)
        for line in lines:
            cut_line = pieces_of(Paragraph(line), len(pieces), ruler.size, limits)
            pieces += [replace(piece, leads=bool(section.blocks)) for piece in cut_line]
        for block in section.blocks:
            pieces += pieces_of(block, len(pieces), ruler.size, limits)
    if sum(piece.size + piece.frame for piece in pieces) <= limits.most:
        limits = Limits(limits.most, limits.most)
    return pack(pieces, limits)


def _breadcrumb(roots: tuple[str, ...], path: tuple[str, ...], ruler: Ruler) -> tuple[str, ...]:
    """Return the breadcrumb, shortened in the middle where it would crowd out the text."""
    whole = (*roots, *path)
    kept = tuple(_short(part) for part in whole)
    while len(kept) > _LEAST_CRUMBS and ruler.size(" > ".join(kept)) > ruler.target * _CRUMB_SHARE:
        middle = 1 if len(kept) > len(path) + 2 else 2
        kept = kept[:middle] + kept[middle + 1 :]
    return kept


def _limits(breadcrumb: tuple[str, ...], ruler: Ruler) -> Limits:
    crumb = ruler.size(" > ".join(breadcrumb)) + _SEPARATORS
    return Limits(
        max(ruler.target - crumb, ruler.target // 2), max(ruler.most - crumb, ruler.target // 2)
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_CRUMB else text[: _LONGEST_CRUMB - 1].rstrip() + "…"


def _guess(text: str) -> int:
    """About how many word pieces a text has."""
    return len(text.split()) * 4 // 3
