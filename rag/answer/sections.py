"""Group chunks into a page's sections, rank them, and choose the excerpts to show; no I/O.

A section is the text under one heading, whatever chunks it is cut into. Sections are ranked by
their best line and by their retrieval signals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from rag.answer.excerpts import MOST_WORDS, Excerpt, fit_block, whole_block
from rag.parts import Omission
from rag.text.blocks import Block, Span, blocks_in
from rag.text.sentences import HEADING_WORDS, is_heading, without_markdown
from rag.types import Chunk, Passage

SECTION_CHUNKS = 8
"""Maximum number of chunks of a section, around the retrieved one."""

_SOME = Omission()
_NO_HEADING = re.compile(r"\s*(?:\||(?:[-*+\u2022\u25aa\u25e6]|\d{1,3}[.)])\s)")
"""The beginnings of table rows and list items."""


@dataclass(frozen=True)
class Section:
    """The text under one heading of a page, and its chunks, in order.

    ``part`` are its blocks where its chunks contain more than the section; None: all blocks.
    """

    chunks: tuple[Chunk, ...]
    part: tuple[Block, ...] | None = None

    @property
    def page_id(self) -> str:
        return self.chunks[0].page_id

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The section's blocks; computed lazily, as most sections are never shown."""
        return _blocks(self.chunks) if self.part is None else self.part

    @property
    def spans(self) -> Iterator[Span]:
        """Yield everything in the section that can be shown."""
        return _spans(self.blocks)


def section_of(
    chunk: Chunk, page: Sequence[Chunk], most: int = SECTION_CHUNKS
) -> tuple[Chunk, ...]:
    """Return the chunks of the section of a page's chunk, at most ``most``.

    Of a longer section, those nearest to the chunk are returned. If the page no longer has the
    chunk, the result is the chunk alone.
    """
    same = [other for other in page if other.breadcrumb == chunk.breadcrumb]
    at = next((n for n, other in enumerate(same) if other.id == chunk.id), None)
    if at is None:
        return (chunk,)
    first = max(0, min(at - most // 2, len(same) - most))
    return tuple(same[first : first + most])


def sections_of(chunks: Iterable[Chunk]) -> tuple[Section, ...]:
    """Return the sections of chunks, in order of first occurrence."""
    sections: dict[tuple[str, str, tuple[str, ...]], dict[str, Chunk]] = {}
    for chunk in chunks:
        key = (chunk.space, chunk.page_id, chunk.breadcrumb)
        sections.setdefault(key, {}).setdefault(chunk.id, chunk)
    ordered = (sorted(same.values(), key=lambda each: each.ordinal) for same in sections.values())
    return tuple(section for same in ordered for section in _divided(same))


def _divided(chunks: Sequence[Chunk]) -> Iterator[Section]:
    """Yield the sections under headings inside the text of chunks with one breadcrumb.

    Short sections of a page share a chunk. As one section they would match the words of all.
    """
    if not any(_may_hold_heading(chunk.text) for chunk in chunks):
        yield Section(tuple(chunks))
        return
    part: list[Block] = []
    for block in _blocks(chunks):
        if part and any(is_heading(span.quote) for span in block.above):
            yield _section(part)
            part = []
        part.append(block)
    if part:
        yield _section(part)


@lru_cache(maxsize=4096)
def _may_hold_heading(text: str) -> bool:
    """Return whether a line is short enough for a heading; faster than parsing all blocks."""
    lines = (line for line in text.splitlines() if line.strip() and not _NO_HEADING.match(line))
    return any(len(without_markdown(line).split()) <= HEADING_WORDS for line in lines)


def _section(blocks: Sequence[Block]) -> Section:
    chunks = {span.chunk.id: span.chunk for span in _spans(blocks)}
    return Section(tuple(chunks.values()), tuple(blocks))


def _spans(blocks: Sequence[Block]) -> Iterator[Span]:
    for block in blocks:
        yield from block.above
        if block.header:
            yield block.header
        yield from block.entries


def _blocks(chunks: Sequence[Chunk]) -> tuple[Block, ...]:
    return tuple(block for run in _runs(chunks) for block in blocks_in(run))


def _runs(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Yield the runs of consecutive chunks."""
    run: list[Chunk] = []
    for chunk in chunks:
        if run and chunk.ordinal != run[-1].ordinal + 1:
            yield run
            run = []
        run.append(chunk)
    if run:
        yield run


WORDS_ALONE = 130
"""Maximum number of words of a section shown alone; steps that need more get MOST_WORDS."""

WORDS_OF_FIRST = 100
"""Maximum number of words of the first of two sections."""

WORDS_OF_SECOND = 70
"""Maximum number of words of the second of two sections."""

LEAST_WORDS_OF_SECOND = 15
"""With fewer words left, a second section would be too short to help."""

SECOND_SECTION_MARGIN = 0.4
"""Maximum distance of a second section's best score from the first's."""

_ATOMIC = frozenset({"steps", "table", "code"})
"""Kinds of block that are shown in full, up to MOST_WORDS, rather than cut."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The relevance of sentences, items and rows: start, end and score, by chunk id."""

    units: Mapping[str, Sequence[tuple[int, int, float]]]

    def of(self, span: Span) -> float:
        """Return the best score in a span; 0 without any."""
        within = (
            score
            for start, end, score in self.units.get(span.chunk.id, ())
            if start < span.end and span.start < end
        )
        return max(within, default=0.0)

    def best(self, section: Section) -> float:
        """Return the best score in a section; 0 without any."""
        if section.part is not None:
            return max(map(self.of, section.spans), default=0.0)
        known = (unit[2] for chunk in section.chunks for unit in self.units.get(chunk.id, ()))
        return max(known, default=0.0)


ShownSections = tuple[tuple[Excerpt, ...], ...]
"""The excerpts of each shown section, best section first, each in page order."""


def choose_excerpts(ordered: Sequence[Section], scores: Scores) -> ShownSections:
    """Return the excerpts of one section or two, at most MOST_WORDS words.

    A second section is shown only if its best sentence scores nearly as high as the first's.

    Args:
        ordered: the sections, best first.
        scores: the scores of their units.
    """
    laid = [_ScoredSection(section, scores) for section in ordered]
    found = ((n, _fit_section(section, WORDS_ALONE)) for n, section in enumerate(laid))
    n, alone = next(((n, cut) for n, cut in found if cut), (0, ()))
    if not alone:
        return ()
    before = _fit_section(laid[n], WORDS_OF_FIRST)
    used = sum(excerpt.words for excerpt in before)
    room = min(WORDS_OF_SECOND, WORDS_ALONE - used)
    said = {entry.quote for excerpt in before for entry in excerpt.entries}
    for section in laid[n + 1 :]:
        if room >= LEAST_WORDS_OF_SECOND and section.best >= laid[n].best - SECOND_SECTION_MARGIN:
            longest = MOST_WORDS - used
            another = _fit_section(section, room, said=said, longest=longest)
            if another and _lacks_steps(section, another):
                # A line beside steps that are left out says little: they are shown, too.
                another = _fit_section(section, longest, said=said, longest=longest)
            if another:
                return before, another
    return (alone,)


def _lacks_steps(section: _ScoredSection, shown: Sequence[Excerpt]) -> bool:
    """Return whether a section has steps, and none of its excerpts shows any."""
    return any(block.kind == "steps" for block in section.blocks) and not any(
        excerpt.block.kind == "steps" for excerpt in shown
    )


class _ScoredSection:
    """A section with the scores of its blocks' entries; computed lazily."""

    def __init__(self, section: Section, scores: Scores) -> None:
        self._section = section
        self._scores = scores
        self.best = scores.best(section)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return self._section.blocks

    @cached_property
    def marks(self) -> list[list[float]]:
        return [[self._scores.of(entry) for entry in block.entries] for block in self.blocks]

    @cached_property
    def order(self) -> list[int]:
        """The indices of the blocks, best first."""
        above = [max(map(self._scores.of, b.above), default=0.0) for b in self.blocks]
        best = [max(*each, over) for each, over in zip(self.marks, above, strict=True)]
        return sorted(range(len(best)), key=lambda n: -best[n])


def _fit_section(
    section: _ScoredSection, room: int, *, said: Collection[str] = (), longest: int = MOST_WORDS
) -> tuple[Excerpt, ...]:
    """Return the best blocks of a section, as many as fit.

    Entries in ``said`` are not repeated. The best block may take up to ``longest`` words where it
    makes no sense in part; if it does not fit even then, nothing of the section is shown.
    """
    kept: dict[int, Excerpt] = {}
    for n in section.order:
        block = section.blocks[n]
        if all(entry.quote in said for entry in block.entries):
            continue
        excerpt = _fit_block(block, section.marks[n], room, longest, first=not kept)
        if excerpt is not None:
            kept[n] = excerpt
            room -= excerpt.words
        elif not kept and longest < MOST_WORDS:
            return ()
    excerpts = [kept[n] for n in sorted(kept)]
    cut = len(excerpts) < len(section.order) or any(each.omission == _SOME for each in excerpts)
    return _with_one_omission(excerpts) if cut else tuple(excerpts)


def _with_one_omission(excerpts: Sequence[Excerpt]) -> tuple[Excerpt, ...]:
    """Return the excerpts with an omission of text only once, at the end."""
    if not excerpts:
        return ()
    *before, last = (
        replace(excerpt, omission=None) if excerpt.omission == _SOME else excerpt
        for excerpt in excerpts
    )
    return (*before, replace(last, omission=last.omission or _SOME))


def _fit_block(
    block: Block, scores: Sequence[float], room: int, longest: int, *, first: bool
) -> Excerpt | None:
    """Return the whole block if it fits; the best block (``first``) may be cut."""
    everything = whole_block(block)
    if not first:
        return everything if _fits(everything, room) else None
    if block.kind in _ATOMIC:
        may_be_cut = longest == MOST_WORDS or everything.tall
        return (
            fit_block(block, scores, longest) if may_be_cut or _fits(everything, longest) else None
        )
    return fit_block(block, scores, room) or fit_block(block, scores, longest)


def _fits(excerpt: Excerpt, room: int) -> bool:
    return not excerpt.tall and excerpt.words <= room


CHUNK_COSINE_WEIGHT = 0.8
"""Weight of a whole chunk's cosine, relative to the score of its best line.

The line that answers may be in a section on another subject.
"""

FIRST_RANK_WEIGHT = 0.1
"""Bonus of the first-ranked section; half of it for the second, a third for the third."""


def rank_sections(passages: Sequence[Passage], scores: Scores) -> list[tuple[float, Section]]:
    """Return the passages' sections with their scores, best first."""
    found = {passage.chunk.id: passage for passage in passages}
    sections = sections_of([passage.chunk for passage in passages])
    places = {key: n for n, key in enumerate(dict.fromkeys(map(_key, sections)), start=1)}

    def worth(section: Section) -> float:
        cosines = (found[chunk.id].signals.get("vector", 0.0) for chunk in section.chunks)
        best = scores.best(section) + CHUNK_COSINE_WEIGHT * max(cosines, default=0.0)
        return best + FIRST_RANK_WEIGHT / places[_key(section)]

    worths = [(worth(section), section) for section in sections]
    return sorted(worths, key=lambda each: each[0], reverse=True)


def section_signals(worths: Sequence[tuple[float, Section]]) -> dict[str, float]:
    """Return the features of the ranking for the gate.

    Args:
        worths: the result of ``rank_sections``, not empty.

    ``section_score`` is the best section's score, ``section_gap`` its lead over the next section,
    ``section_lead`` its lead over the best section of another page.
    """
    best, first = worths[0]
    others = (worth for worth, section in worths if section.page_id != first.page_id)
    following = (worth for worth, _ in worths[1:])
    return {
        "section_score": best,
        "section_gap": best - next(following, 0.0),
        "section_lead": best - next(others, 0.0),
    }


def _key(section: Section) -> tuple[str, str, tuple[str, ...]]:
    """Return the key of a section's breadcrumb; its sections share one retrieval rank."""
    first = section.chunks[0]
    return first.space, first.page_id, first.breadcrumb
