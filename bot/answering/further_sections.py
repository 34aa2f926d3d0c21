"""Find the sections beside those that an answer cites, to be asked about next; pure.

A section is offered by its label as an option ("Title: Section"). The caller reads the pages with
its reader's permissions, so that no heading of a page is offered that the reader may not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from bot.domain.formatting import option_label
from rag.types import Chunk

_LONGEST_LABEL = 200


def sections_beside(page: Sequence[Chunk], cited: Collection[str]) -> tuple[Chunk, ...]:
    """Return the first chunks of a page's other sections, the nearest to the cited ones first.

    At the same distance the one below comes first. ``page`` are its chunks in order, ``cited`` are
    ids of chunks. Sections without a heading of their own are left out, and so is a heading that
    the page has more than once: its label would not say which is meant.
    """
    sections = _sections(page)
    places = [
        place for place, chunks in enumerate(sections) if any(each.id in cited for each in chunks)
    ]
    if not places:
        return ()
    labels = [option_label(chunks[0]) for chunks in sections]
    others = [
        place
        for place, chunks in enumerate(sections)
        if place not in places
        and _has_heading(chunks[0])
        and labels.count(labels[place]) == 1
        and len(labels[place]) <= _LONGEST_LABEL
    ]
    others.sort(key=lambda place: _distance(place, places))
    return tuple(sections[place][0] for place in others)


def alternately(pages: Iterable[Sequence[Chunk]]) -> Iterator[Chunk]:
    """Yield the first section of each page, then the second of each, and so on."""
    left = [list(each) for each in pages]
    while left := [each for each in left if each]:
        for each in left:
            yield each.pop(0)


def _sections(page: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return the runs of chunks that have the same heading."""
    sections: list[list[Chunk]] = []
    for chunk in page:
        if not sections or sections[-1][0].section != chunk.section:
            sections.append([])
        sections[-1].append(chunk)
    return sections


def _has_heading(chunk: Chunk) -> bool:
    return bool(chunk.section.strip()) and chunk.section != chunk.title


def _distance(place: int, cited: Sequence[int]) -> tuple[int, bool]:
    nearest = min(cited, key=lambda each: (abs(each - place), each > place))
    return abs(nearest - place), place < nearest
