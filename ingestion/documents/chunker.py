"""Split a Document at its headings into Chunks sized in the embedder's tokens. Pure.

Tiny neighbouring sections under one parent are joined.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ingestion.documents.packing import Limits, Piece, Size, pack, pieces_of
from ingestion.text import markdown
from ingestion.types import Block, Document, Heading, Paragraph, SourcePage
from rag.embedding import without_long_urls
from rag.ports import Embedder
from rag.types import Chunk

TINY = 80
"""Sections of fewer tokens are joined with their neighbours, up to the target."""


@dataclass(frozen=True, slots=True)
class Section:
    """The blocks under one heading path, on one page of a paged document."""

    path: tuple[str, ...]
    blocks: tuple[Block, ...]
    page: int | None


@dataclass(frozen=True, slots=True)
class Passage:
    """One or more consecutive sections, under the heading path that they share."""

    path: tuple[str, ...]
    sections: tuple[Section, ...]
    size: int
    tiny: bool

    @property
    def page(self) -> int | None:
        return self.sections[0].page


def sections_of(blocks: Iterable[Block], title: str) -> list[Section]:
    """Return the sections in order; a heading that repeats the title is left out of paths."""
    stack: list[Heading] = []
    current: list[Block] = []
    sections: list[Section] = []
    page: int | None = None
    bare = False

    def close() -> None:
        if current or bare:
            sections.append(Section(_path(stack, title), tuple(current), page))
            current.clear()

    for block in blocks:
        if isinstance(block, Heading):
            bare = bare and block.level <= stack[-1].level
            close()
            stack = [*(h for h in stack if h.level < block.level), block]
            bare, page = True, block.page
            continue
        if current and block.page != page:
            close()
        current.append(block)
        bare, page = False, block.page
    close()
    return [section for section in sections if section.blocks or section.path] or sections[:1]


def passages_of(
    sections: Sequence[Section], size: Callable[[str], int], target: int
) -> list[Passage]:
    """Return the sections, runs of tiny ones under one parent joined up to ``target`` tokens."""
    passages: list[Passage] = []
    for section in sections:
        own = sum(size(markdown(block)) for block in section.blocks)
        passage = Passage(section.path, (section,), own, tiny=own < TINY)
        joined = _join(passages[-1], passage, size, target) if passages else None
        if joined:
            passages[-1] = joined
        else:
            passages.append(passage)
    return passages


def shown_headings(passage: Passage) -> list[tuple[tuple[str, ...], Section]]:
    """Return each section with the headings that its passage must show as lines."""
    shown = []
    before = passage.path
    for section in passage.sections:
        known = max(len(_common(before, section.path)), len(passage.path))
        shown.append((section.path[known:], section))
        before = section.path
    return shown


def _join(
    first: Passage, second: Passage, size: Callable[[str], int], target: int
) -> Passage | None:
    if not (first.tiny and second.tiny) or first.page != second.page:
        return None
    path = _common(first.path, second.path)
    if len(path) < max(len(first.path), len(second.path)) - 1:
        return None
    joined = Passage(path, (*first.sections, *second.sections), 0, tiny=True)
    headings = sum(size(line) for lines, _ in shown_headings(joined) for line in lines)
    blocks = sum(size(markdown(b)) for section in joined.sections for b in section.blocks)
    total = headings + blocks
    return Passage(path, joined.sections, total, tiny=True) if total <= target else None


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]


def _path(stack: Sequence[Heading], title: str) -> tuple[str, ...]:
    texts = tuple(heading.text for heading in stack)
    repeats = bool(texts) and texts[0].casefold() == title.casefold()
    return texts[1:] if repeats else texts


CHUNKER = 1
"""Incremented whenever the same document yields different chunks."""

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
class PageLocation:
    """The tenant, space and source type of a page."""

    tenant: str
    space: str
    source_type: str


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Measures text in the embedder's tokens; holds the target and maximum size of a chunk."""

    size: Size
    target: int
    most: int


def chunk_sizes(embedder: Embedder | None) -> ChunkSizes:
    """Return the sizes that fit an embedder; without one, estimates for a small embedder."""
    seen = embedder.max_tokens if embedder else _SEEN_WITHOUT_EMBEDDER
    target = min(_LARGEST_TARGET, round(seen * _TARGET_SHARE))
    count = embedder.count_tokens if embedder else _estimated_tokens
    marks = count("")

    @functools.lru_cache(maxsize=8192)
    def size(text: str) -> int:
        tokens = count(without_long_urls(text))
        return max(tokens - marks, len(text) // _CHARACTERS_PER_TOKEN_AT_LEAST)

    return ChunkSizes(size, target, min(seen - marks, round(target * _MOST_SHARE)))


def chunk_document(
    document: Document, page: SourcePage, place: PageLocation, sizes: ChunkSizes
) -> tuple[Chunk, ...]:
    """Return a document's chunks in page order; a document without text has none.

    Every word of the document is in the text or the breadcrumb of some chunk.
    """
    chunks: list[Chunk] = []
    roots = (place.space, *page.ancestors, document.title)
    sections = sections_of(document.blocks, document.title)
    for passage in passages_of(sections, sizes.size, sizes.target):
        breadcrumb = _breadcrumb(roots, passage.path, sizes)
        known = (*passage.path,) if chunks else (document.title, *passage.path)
        left_out = tuple(heading for heading in known if heading not in breadcrumb)
        limits = _limits(breadcrumb, sizes)
        for text in _texts(passage, document.title, left_out, sizes, limits):
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


def chunk_id(place: PageLocation, page_id: str, ordinal: int) -> str:
    """Return an id that is stable across runs: 24 hex digits of the page, and the ordinal."""
    key = f"{place.tenant}\0{place.space}\0{page_id}".encode(errors="surrogatepass")
    return f"{hashlib.blake2b(key, digest_size=12).hexdigest()}-{ordinal}"


def _texts(
    passage: Passage, title: str, left_out: tuple[str, ...], sizes: ChunkSizes, limits: Limits
) -> list[str]:
    pieces: list[Piece] = []
    for headings, section in shown_headings(passage):
        lines = (*left_out, *headings)
        left_out = ()
        if not section.blocks and not lines:
            lines = section.path[-1:] or (title,)
        for line in lines:
            cut_line = pieces_of(Paragraph(line), len(pieces), sizes.size, limits)
            pieces += [replace(piece, leads=bool(section.blocks)) for piece in cut_line]
        for block in section.blocks:
            pieces += pieces_of(block, len(pieces), sizes.size, limits)
    if sum(piece.size + piece.frame for piece in pieces) <= limits.most:
        limits = Limits(limits.most, limits.most)
    return pack(pieces, limits)


def _breadcrumb(
    roots: tuple[str, ...], path: tuple[str, ...], sizes: ChunkSizes
) -> tuple[str, ...]:
    """Return the breadcrumb, shortened in the middle where it would leave too little for text."""
    whole = (*roots, *path)
    kept = tuple(_shortened(part) for part in whole)
    while len(kept) > _LEAST_CRUMBS and sizes.size(" > ".join(kept)) > sizes.target * _CRUMB_SHARE:
        middle = 1 if len(kept) > len(path) + 2 else 2
        kept = kept[:middle] + kept[middle + 1 :]
    return kept


def _limits(breadcrumb: tuple[str, ...], sizes: ChunkSizes) -> Limits:
    crumb = sizes.size(" > ".join(breadcrumb)) + _SEPARATORS
    return Limits(
        max(sizes.target - crumb, sizes.target // 2), max(sizes.most - crumb, sizes.target // 2)
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_CRUMB else text[: _LONGEST_CRUMB - 1].rstrip() + "…"


def _estimated_tokens(text: str) -> int:
    """Return an estimate of the number of word pieces in a text."""
    return len(text.split()) * 4 // 3
