"""Which section answers best: by its best line and by how it was found. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rag.sections import Section, sections_of
from rag.selection import Scores
from rag.types import Passage

WHOLE = 0.8
"""What the cosine of a whole chunk counts for, beside the score of the best line in it.

A line that says what was asked may stand in a section on something else.
"""

FOUND_FIRST = 0.1
"""What it counts for to be found first; half of it for the second, a third for the third."""


def ranked(passages: Sequence[Passage], scores: Scores) -> list[tuple[float, Section]]:
    """Return the sections of the passages with what each is worth, best first."""
    found = {passage.chunk.id: passage for passage in passages}
    sections = sections_of([passage.chunk for passage in passages])
    places = {key: n for n, key in enumerate(dict.fromkeys(map(_key, sections)), start=1)}

    def worth(section: Section) -> float:
        cosines = (found[chunk.id].signals.get("vector", 0.0) for chunk in section.chunks)
        best = scores.best(section) + WHOLE * max(cosines, default=0.0)
        return best + FOUND_FIRST / places[_key(section)]

    worths = [(worth(section), section) for section in sections]
    return sorted(worths, key=lambda each: each[0], reverse=True)


def signals(worths: Sequence[tuple[float, Section]]) -> dict[str, float]:
    """Return what the gate may know of the choice; ``worths`` are those of ``ranked``, not empty.

    ``section_score`` is the best section's worth, ``section_gap`` by how much it is ahead of the
    next one, ``section_lead`` of the best one of another page.
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
    """Return what the sections of one breadcrumb share, which are found together."""
    first = section.chunks[0]
    return first.space, first.page_id, first.breadcrumb
