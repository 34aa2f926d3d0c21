"""Shorten an answer for a card without cutting a table, a list, code or a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bot.domain.markdown import blocks, clip, is_fence
from rag.parts import CELL_JOINT
from rag.text.sentences import split_units

LEFT_OUT = "[\u2026]"
"""Stands where something is left out."""


def excerpt(text: str, most: int, size: Callable[[str], int] = len) -> str:
    """Return the beginning of Markdown in whole pieces, of at most ``most`` and the marks.

    What does not fit is left out whole: a table, a list, a block of code, or the rest of the
    sentences, after which nothing follows. Only a first sentence that is too long alone is cut.
    """
    kept: list[str] = []
    left = most
    for block in blocks(text):
        whole = size(block) <= left
        piece = block if whole else _beginning(block, left, size)
        if not (piece or kept) and _is_prose(block):
            piece = clip(block, most)
        kept += [piece] if piece else []
        left -= size(piece)
        if not whole and kept[-1:] != [LEFT_OUT]:
            kept.append(LEFT_OUT)
        if not whole and _is_prose(block):
            break
    return "\n\n".join(kept)


def _beginning(block: str, most: int, size: Callable[[str], int]) -> str:
    """Return the sentences of a paragraph that fit; "" for anything else."""
    if not _is_prose(block):
        return ""
    ends = (block[: unit.end] for unit in split_units(block))
    return max(_fitting(ends, most, size), key=len, default="")


def _fitting(texts: Iterator[str], most: int, size: Callable[[str], int]) -> Iterator[str]:
    return (each for each in texts if size(each) <= most)


def _is_prose(block: str) -> bool:
    if is_fence(block) or any(unit.kind != "sentence" for unit in split_units(block)):
        return False
    lines = block.splitlines()
    return len(lines) < 2 or not all(CELL_JOINT in line for line in lines)  # noqa: PLR2004 - rows
