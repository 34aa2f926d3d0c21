"""Which sections are shown, and what of them: by how well their sentences answer. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rag.blocks import Block, Span
from rag.excerpts import LONGEST, MORE, Excerpt, fitting, whole
from rag.sections import Section

ROOM = 130
"""Words of a section that is shown alone; a list of steps that needs more gets LONGEST."""

ROOM_BEFORE_ANOTHER = 100
"""Words of the first of two sections."""

SECOND_ROOM = 70
"""Words of the second of two at most."""

LEAST_ROOM = 15
"""With less room left a second section would say nothing."""

BREADTH = 0.4
"""How far below the best sentence's score that of a second section may lie."""

_ATOMIC = frozenset({"steps", "table", "code"})
"""Kinds of block that are rather shown in full than cut to ROOM."""


@dataclass(frozen=True, slots=True)
class Scores:
    """How well sentences, items and rows answer: start, end and score, by their chunk's id."""

    units: Mapping[str, Sequence[tuple[int, int, float]]]

    def of(self, span: Span) -> float:
        """Return the best score in a stretch of text; 0 where none is known."""
        within = (
            score
            for start, end, score in self.units.get(span.chunk.id, ())
            if start < span.end and span.start < end
        )
        return max(within, default=0.0)

    def best(self, section: Section) -> float:
        """Return the best score in a section; 0 where none is known."""
        if section.part is not None:
            return max(map(self.of, section.spans), default=0.0)
        known = (unit[2] for chunk in section.chunks for unit in self.units.get(chunk.id, ()))
        return max(known, default=0.0)


Shown = tuple[tuple[Excerpt, ...], ...]
"""The excerpts of each section that is shown, best section first, each in page order."""


def shown_of(ordered: Sequence[Section], scores: Scores) -> Shown:
    """Return what is shown of one section or two, at most LONGEST words.

    A second one is shown only where its best sentence answers nearly as well as the first's.

    Args:
        ordered: the sections, best first.
        scores: of what is in them.
    """
    laid = [_Laid(section, scores) for section in ordered]
    found = ((n, _cut(section, ROOM)) for n, section in enumerate(laid))
    n, alone = next(((n, cut) for n, cut in found if cut), (0, ()))
    if not alone:
        return ()
    before = _cut(laid[n], ROOM_BEFORE_ANOTHER)
    used = sum(excerpt.words for excerpt in before)
    room = min(SECOND_ROOM, ROOM - used)
    said = {entry.quote for excerpt in before for entry in excerpt.entries}
    for section in laid[n + 1 :]:
        if room >= LEAST_ROOM and section.best >= laid[n].best - BREADTH:
            another = _cut(section, room, said=said, longest=LONGEST - used)
            if another:
                return before, another
    return (alone,)


class _Laid:
    """A section with its blocks, each with the scores of its entries; read when first needed."""

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
        """The places of the blocks, the best first."""
        above = [max(map(self._scores.of, b.above), default=0.0) for b in self.blocks]
        best = [max(*each, over) for each, over in zip(self.marks, above, strict=True)]
        return sorted(range(len(best)), key=lambda n: -best[n])


def _cut(
    section: _Laid, room: int, *, said: Collection[str] = (), longest: int = LONGEST
) -> tuple[Excerpt, ...]:
    """Return the blocks of a section that answer best, as many as there is room for.

    What was ``said`` is not repeated. The best block may take up to ``longest`` words where it
    makes no sense in part; where even those are too few for it nothing of the section is shown.
    """
    kept: dict[int, Excerpt] = {}
    for n in section.order:
        block = section.blocks[n]
        if all(entry.quote in said for entry in block.entries):
            continue
        excerpt = _fitted(block, section.marks[n], room, longest, first=not kept)
        if excerpt is not None:
            kept[n] = excerpt
            room -= excerpt.words
        elif not kept and longest < LONGEST:
            return ()
    excerpts = [kept[n] for n in sorted(kept)]
    cut = len(excerpts) < len(section.order) or any(each.more == MORE for each in excerpts)
    return _ended(excerpts) if cut else tuple(excerpts)


def _ended(excerpts: Sequence[Excerpt]) -> tuple[Excerpt, ...]:
    """Return them with what says that there is more said once, at the end."""
    if not excerpts:
        return ()
    *before, last = (
        replace(excerpt, more="") if excerpt.more == MORE else excerpt for excerpt in excerpts
    )
    return (*before, replace(last, more=last.more or MORE))


def _fitted(
    block: Block, scores: Sequence[float], room: int, longest: int, *, first: bool
) -> Excerpt | None:
    """Return a block, or of the best one as much as has room."""
    everything = whole(block)
    if not first:
        return everything if _fits(everything, room) else None
    if block.kind in _ATOMIC:
        may_be_cut = longest == LONGEST or everything.tall
        return fitting(block, scores, longest) if may_be_cut or _fits(everything, longest) else None
    return fitting(block, scores, room) or fitting(block, scores, longest)


def _fits(excerpt: Excerpt, room: int) -> bool:
    return not excerpt.tall and excerpt.words <= room
