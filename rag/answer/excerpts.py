"""Cut a block between its entries to a number of words, and say what is omitted; no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag.parts import Omission
from rag.text.blocks import Block, Span
from rag.text.sentences import without_markdown
from rag.types import PartKind

MOST_ROWS = 12
"""Maximum number of rows of a table that is shown whole."""

MOST_WORDS = 220
"""Maximum number of words shown of one block."""

_KINDS: dict[str, PartKind] = {
    "paragraph": "paragraph",
    "list": "paragraph",
    "steps": "step",
    "table": "table",
    "code": "code",
}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The shown entries of a block; ``omission`` are those after them that are not shown."""

    block: Block
    entries: tuple[Span, ...]
    omission: Omission | None = None

    @property
    def kind(self) -> PartKind:
        return _KINDS[self.block.kind]

    @property
    def words(self) -> int:
        return visible_words(self.runs)

    @property
    def runs(self) -> tuple[Span, ...]:
        """The quoted text, as the fewest possible spans."""
        framed = (self.block.header, *self.entries, self.block.footer)
        return tuple(merged([*self.block.above, *(span for span in framed if span)]))

    @property
    def tall(self) -> bool:
        """Whether a table has too many rows to be shown whole."""
        return self.block.kind == "table" and len(self.entries) > MOST_ROWS


def visible_words(spans: Iterable[Span]) -> int:
    """Return the number of words that a reader sees."""
    return sum(_words(span.quote) for span in spans)


@lru_cache(maxsize=8192)
def _words(text: str) -> int:
    return len(without_markdown(text).split())


def whole_block(block: Block) -> Excerpt:
    """Return an excerpt with all entries of a block."""
    return Excerpt(block, block.entries)


def fit_block(block: Block, scores: Sequence[float], room: int) -> Excerpt | None:
    """Return as much of a block as fits, or None where nothing does.

    Args:
        block: its kind decides what is kept: of steps and code the first entries, of a table the
            rows with the best scores, of other blocks the entries around the best one.
        scores: the relevance of each entry.
        room: maximum number of words.
    """
    everything = whole_block(block)
    if not everything.tall and everything.words <= room:
        return everything
    sizes = [visible_words([entry]) for entry in block.entries]
    left = room - (everything.words - sum(sizes))
    if block.kind in {"steps", "code"}:
        kept = _first(sizes, left)
    elif block.kind == "table":
        kept = _best(sizes, scores, left)
    else:
        kept = _around(sizes, scores, left)
    if not kept:
        return None
    return Excerpt(block, tuple(block.entries[n] for n in kept), _left_out(block, kept))


def _first(sizes: Sequence[int], room: int) -> list[int]:
    count = 0
    while count < len(sizes) and sum(sizes[: count + 1]) <= room:
        count += 1
    return list(range(count))


def _best(sizes: Sequence[int], scores: Sequence[float], room: int) -> list[int]:
    kept: list[int] = []
    for n in sorted(range(len(sizes)), key=lambda n: -scores[n]):
        if len(kept) < MOST_ROWS and sizes[n] <= room:
            kept.append(n)
            room -= sizes[n]
    return sorted(kept)


def _around(sizes: Sequence[int], scores: Sequence[float], room: int) -> list[int]:
    """Return a run around the best entry, extended to the side with the better score."""
    first = last = max(range(len(sizes)), key=lambda n: scores[n])
    room -= sizes[first]
    if room < 0:
        return []
    while True:
        beside = [n for n in (first - 1, last + 1) if 0 <= n < len(sizes) and sizes[n] <= room]
        if not beside:
            return list(range(first, last + 1))
        taken = max(beside, key=lambda n: scores[n])
        first, last = min(first, taken), max(last, taken)
        room -= sizes[taken]


def _left_out(block: Block, kept: Sequence[int]) -> Omission | None:
    """Return what is omitted of a block; None when all of it is shown."""
    if len(kept) == len(block.entries):
        return None
    if block.kind == "table":
        return Omission("rows")
    left = [number for number in block.numbers[kept[-1] + 1 :] if number is not None]
    return Omission("steps", left[0], left[-1]) if block.kind == "steps" and left else Omission()


def merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans, with adjacent ones spans of one chunk that only white space separates."""
    before: Span | None = None
    for span in spans:
        if before is not None and _adjoins(before, span):
            before = Span(before.chunk, before.start, span.end)
            continue
        if before is not None:
            yield before
        before = span
    if before is not None:
        yield before


def _adjoins(one: Span, other: Span) -> bool:
    if one.chunk.id != other.chunk.id or one.end > other.start:
        return False
    return not one.chunk.text[one.end : other.start].strip()
