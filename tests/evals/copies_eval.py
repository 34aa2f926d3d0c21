"""Measures how often a true statement is lost because of how a model copies a line.

``python -m tests.evals.copies_eval [--only SET]`` goes through every line of every chunk of the
sets that are there, writes down what it says in the ways in which models do, and has each checked.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ingestion.documents.chunker import PageLocation, chunk_document, chunk_sizes
from ingestion.errors import PageUnreadable
from ingestion.sync.sync import Folder, source_of
from rag.answer.citations import LONGEST_CLAIM, check_part
from rag.answer.claim_support import has_negation
from rag.answer.source_lines import Line, NumberedLines, number_lines
from rag.text.sentences import without_markdown
from rag.types import Chunk
from tests.evals.attacks_eval import SHARED
from tests.evals.sets import EvalSet, public_sets, sample

MOST_LOST = 0.01
"""Share of each kind of copy."""

_ENDS = (".", "!", "?", ":", ";", "\u2026")
_LEAST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Copy:
    """What a model writes of a line, and the numbers that it cites for it."""

    kind: str
    text: str
    numbers: tuple[int, ...]


def copies_of(number: int, lines: Sequence[Line]) -> Iterator[Copy]:
    """Yield the copies of a line that are short enough to be one part of an answer."""
    line = lines[number - 1]
    made = [*_of_one(number, line), *_joined(number, lines)]
    yield from (copy for copy in made if 0 < len(copy.text) <= LONGEST_CLAIM)


def _of_one(number: int, line: Line) -> Iterator[Copy]:
    text, here = " ".join(without_markdown(line.stored).split()), (number,)
    words = text.split()
    yield Copy("as stored", line.stored, here)
    yield Copy("as read", text, here)
    if not text.endswith(_ENDS):
        yield Copy("full stop added", f"{text}.", here)
    yield Copy("list mark added", f"- {text}", here)
    if text[:1].isalpha():
        yield Copy("first letter's case", text[0].swapcase() + text[1:], here)
    # Leaving out a denial turns a line round, which is rightly lost.
    if len(words) >= _LEAST_WORDS and not has_negation(text):
        third = len(words) // 3
        left_out = f"{' '.join(words[:third])} \u2026 {' '.join(words[-third:])}"
        yield Copy("middle left out", left_out, here)
    if line.unit.kind == "row":
        cells = [
            " ".join(without_markdown(cell).split()) for cell in line.stored.strip("| ").split("|")
        ]
        yield Copy("cells by comma", f"{cells[0]}: {', '.join(cells[1:])}", here)


def _joined(number: int, lines: Sequence[Line]) -> Iterator[Copy]:
    following = lines[number : number + 1]
    if following and following[0].unit.kind == lines[number - 1].unit.kind == "item":
        texts = [
            " ".join(without_markdown(each.stored).split())
            for each in (lines[number - 1], *following)
        ]
        yield Copy("two items joined", " ".join(texts), (number, number + 1))


def lost_of(chunks: Sequence[Chunk]) -> tuple[Mapping[str, int], Mapping[str, int], list[Copy]]:
    """Return by kind how many copies there are and how many are lost, and the lost ones."""
    made, lost = Counter[str](), Counter[str]()
    which: list[Copy] = []
    for chunk in chunks:
        shown = number_lines([chunk])
        for number in range(1, len(shown.lines) + 1):
            for copy in copies_of(number, shown.lines):
                made[copy.kind] += 1
                if not _survives(copy, shown):
                    lost[copy.kind] += 1
                    which.append(copy)
    return made, lost, which


def _survives(copy: Copy, shown: NumberedLines) -> bool:
    return check_part(copy.text, "paragraph", copy.numbers, shown, "").claim is not None


async def chunks_of(one: EvalSet) -> list[Chunk]:
    """Return the chunks of a set's pages, sized as without an embedder."""
    found: list[Chunk] = []
    for space, folder in one.spaces.items():
        source, place = source_of(Folder(folder, space)), PageLocation("default", space, "folder")
        for page in (await source.list()).pages:
            with suppress(PageUnreadable):
                found += chunk_document(await source.read(page), page, place, chunk_sizes(None))
    return found


async def measure(one: EvalSet) -> bool:
    """Print the share of each kind that is lost; False when one is above the limit."""
    made, lost, _ = lost_of(await chunks_of(one))
    for kind, count in made.items():
        print(f"{one.name}: {kind}: {lost[kind]} of {count} lost ({lost[kind] / count:.2%})")
    return all(lost[kind] <= MOST_LOST * count for kind, count in made.items())


def main(arguments: Sequence[str]) -> int:
    """Return 1 when more than one in a hundred of any kind is lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.copies_eval", description=__doc__)
    parser.add_argument("--only", default="", help="a part of a set's name, such as `sample`")
    only = parser.parse_args(arguments).only
    with TemporaryDirectory() as work:
        sets = [sample(Path(work)), *public_sets(SHARED, Path(work))]
        held = [asyncio.run(measure(one)) for one in sets if only in one.name]
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
