"""Blocks to sections under their headings; tiny neighbours joined. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ingestion.render import markdown
from ingestion.types import Block, Heading

TINY = 80
"""Sections of fewer tokens are joined with their neighbours, up to the target."""


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one path of headings, on one page of a paged document."""

    path: tuple[str, ...]
    blocks: tuple[Block, ...]
    page: int | None


@dataclass(frozen=True, slots=True)
class Passage:
    """One or more sections in order, under the path they share."""

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
