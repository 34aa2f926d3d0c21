"""Measures what is kept of recorded Confluence pages, against the Markdown that people expect.

``python -m tests.evals.confluence_eval [--shared DIR]`` writes a line for each page, and for all.
Expected is another converter's reviewed Markdown of the same pages; what it adds of its own
(front matter, imports, the page's title, tags) is no part of the measure. Where it moved pictures
behind the text that follows them, their captions count as lost here.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from html import unescape
from itertools import chain
from pathlib import Path

from ingestion.confluence.storage.convert import convert
from ingestion.confluence.storage.writer import Resolve
from ingestion.text import clean, markdown
from ingestion.types import Block, Table

_ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("FRONTDESK_EVAL_DATA", _ROOT.parent / "shared" / "data"))
FLOOR = 0.99
"""The least share, of each kind and over all pages."""

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(?:[-*] )?```[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"<img[^>]*>")
_TAG = re.compile(r"</?[A-Za-z][^>]*>")
_CELL = re.compile(r"<t[dh][^>]*>(.*?)</t[dh]>", re.DOTALL)
_RULE = re.compile(r"^\|[-:| ]+\|$")
_URL = re.compile(r"\]\((https?://[^)\s]+)\)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Kept:
    """How many of what was expected are there: words in their order, the rest by what they say."""

    words: tuple[int, int]
    code_blocks: tuple[int, int]
    cells: tuple[int, int]
    links: tuple[int, int]


def measured(page: Path) -> Kept:
    """Return what is kept of one recorded page."""
    blocks = convert((page / "page.xhtml").read_text("utf-8"), Resolve()).blocks
    expected = clean(_FRONT.sub("", (page / "expected.mdx").read_text("utf-8")))
    shown = "\n\n".join(markdown(block) for block in blocks)
    return Kept(
        words=_in_order(_words(_plain(expected)), _words(shown)),
        code_blocks=_among(_fenced(expected), _fenced(shown)),
        cells=_among(_expected_cells(expected), _cells(blocks)),
        links=_among(_URL.findall(expected), re.findall(r"https?://[^)\s]+", shown)),
    )


def added(all_kept: Sequence[Kept]) -> Kept:
    """Return the sums over pages."""
    sums = {
        each.name: tuple(
            sum(column) for column in zip(*(getattr(k, each.name) for k in all_kept), strict=True)
        )
        for each in fields(Kept)
    }
    return Kept(**sums)


def share(counts: tuple[int, int]) -> float:
    """Return the share that is kept; all of nothing is 1."""
    kept, expected = counts
    return kept / expected if expected else 1.0


def pages(shared: Path) -> list[Path]:
    """Return the recorded pages; none where they are not there."""
    return sorted(path.parent for path in (shared / "confluence_recorded").glob("*/page.xhtml"))


def _plain(expected: str) -> str:
    """Return the Markdown without what the other converter added."""
    text = re.sub(r"^import .*$", "", expected, flags=re.MULTILINE)
    text = re.sub(r"\A\s*# .*$", "", text, count=1, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", _PICTURE.sub(" ", text))
    return unescape(_TAG.sub(" ", text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("_", " "))


def _in_order(expected: Sequence[str], shown: Sequence[str]) -> tuple[int, int]:
    matcher = SequenceMatcher(None, expected, shown, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()), len(expected)


def _among(expected: Iterable[str], shown: Iterable[str]) -> tuple[int, int]:
    """Return how many of the expected texts there are, each counted once for each time."""
    left = [_squeezed(text) for text in shown]
    wanted = [text for text in map(_squeezed, expected) if text]
    found = 0
    for text in wanted:
        if text in left:
            left.remove(text)
            found += 1
    return found, len(wanted)


def _squeezed(text: str) -> str:
    return "".join(_words(unescape(_TAG.sub(" ", text))))


def _fenced(text: str) -> list[str]:
    return _FENCE.findall(text)


def _expected_cells(expected: str) -> Iterable[str]:
    rows = [line for line in expected.split("\n") if line.startswith("|") and not _RULE.match(line)]
    piped = chain.from_iterable(re.split(r"(?<!\\)\|", row) for row in rows)
    return chain(piped, (re.sub(r"\]\([^)]*\)", "]", cell) for cell in _CELL.findall(expected)))


def _cells(blocks: Iterable[Block]) -> Iterable[str]:
    tables = [block for block in blocks if isinstance(block, Table)]
    return (cell for table in tables for row in (table.header, *table.rows) for cell in row)


def _line(name: str, kept: Kept) -> str:
    figures = (
        f"{each.name.replace('_', ' ')} {share(getattr(kept, each.name)):.3f} "
        f"of {getattr(kept, each.name)[1]}"
        for each in fields(Kept)
    )
    return f"{name}: {', '.join(figures)}\n"


def main(arguments: Sequence[str]) -> int:
    """Return 1 when less is kept than the floor says, 2 when there are no pages."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.evals.confluence_eval", description=__doc__
    )
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with the public sets")
    found = {page.name: measured(page) for page in pages(parser.parse_args(arguments).shared)}
    if not found:
        sys.stderr.write("No recorded pages there.\n")
        return 2
    whole = added(list(found.values()))
    sys.stdout.writelines(_line(name, kept) for name, kept in found.items())
    sys.stdout.write(_line("all", whole))
    return int(any(share(getattr(whole, each.name)) < FLOOR for each in fields(Kept)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
