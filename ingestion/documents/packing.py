"""Split text that is too long, and pack the pieces into chunk texts of even size. Pure.

Text is cut at the weakest boundary that suffices: lines, sentences, clauses, words, and at worst
anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ingestion.text import code_fence, header_lines, markdown, row_line
from ingestion.types import Block, Code, ItemList, Table

_END = re.compile(
    r"[.!?…]+[\"'\u201d\u2019)\]*_`]*(?P<gap>\s+)(?=\S)|[\u3002\uff01\uff1f](?P<none>)(?=\S)|(?P<line>\n+)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|cf|approx|incl|dept|est|mr|mrs|ms|dr|st|inc|ltd|jr|sr|u\.s|z\.b|bzw|ca)"
    r"|\b[a-z])\.$",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile(r"\b(?:no|nr|fig|sec|art|p|pp|vol)\.$", re.IGNORECASE)
_STARTS_SENTENCE = re.compile(r"[^a-z,;:)\]]")
_CLAUSE = re.compile(r"(?<=[,;:\u2013\u2014|])\s+")
_CHARACTERS_PER_TOKEN = 8
"""A text longer than this per allowed token is cut without counting tokens."""

Size = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text and its separator from the part before: a newline, a space, or nothing."""

    text: str
    joint: str


def sentences(text: str) -> list[TextPart]:
    """Return the sentences of a text; every line ends one."""
    parts: list[TextPart] = []
    start, joint = 0, ""
    for match in _END.finditer(text):
        if match["line"] is None and not _ends(text, start, match):
            continue
        gap = match["line"] or match["gap"] or ""
        parts.append(TextPart(text[start : match.end() - len(gap)], joint))
        start, joint = match.end(), "\n" if "\n" in gap else gap[:1]
    parts.append(TextPart(text[start:], joint))
    return [part for part in parts if part.text.strip()]


def cut(text: str, most: int, size: Size) -> list[TextPart]:
    """Return a text in parts of at most ``most`` tokens, cut at the weakest possible boundaries."""
    return [
        piece
        for sentence in sentences(text)
        for piece in _fitted_parts(sentence, most, size, (_clauses, _halves))
    ]


Cutter = Callable[[str], Iterable[TextPart]]


def _fitted_parts(
    part: TextPart, most: int, size: Size, cutters: tuple[Cutter, ...]
) -> Iterable[TextPart]:
    countable = len(part.text) <= most * _CHARACTERS_PER_TOKEN
    if len(part.text) <= 1 or (countable and size(part.text) <= most):
        yield part
        return
    cutter, rest = cutters[0], cutters[1:] or cutters
    joint = part.joint
    for piece in cutter(part.text):
        yield from _fitted_parts(TextPart(piece.text, joint or piece.joint), most, size, rest)
        joint = ""


def _clauses(text: str) -> Iterable[TextPart]:
    start, joint = 0, ""
    for match in _CLAUSE.finditer(text):
        yield TextPart(text[start : match.start()], joint)
        start, joint = match.end(), " "
    yield TextPart(text[start:], joint)


def _halves(text: str) -> Iterable[TextPart]:
    """Cut at the white space nearest to the middle, or in the middle of a very long word."""
    middle = len(text) // 2
    before = text.rfind(" ", 0, middle)
    after = text.find(" ", middle)
    places = [place for place in (before, after) if place > 0]
    if not places:
        return TextPart(text[:middle], ""), TextPart(text[middle:], "")
    place = min(places, key=lambda position: abs(position - middle))
    return TextPart(text[:place], ""), TextPart(text[place + 1 :], " ")


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    if not _STARTS_SENTENCE.match(text, match.end()):
        return False
    before = text[max(start, match.start() - 12) : match.start() + 1]
    if text[match.end()].isdecimal() and _BEFORE_NUMBER.search(before):
        return False
    return _ABBREVIATION.search(before) is None


OVERLAP = 0.15
"""Largest share of the target that a chunk repeats of the chunk before."""

_WITHIN_BLOCK_COST = 0.3
_LONGEST_LABEL = 120
_LEAD_COST = 2.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A text that is not cut further.

    Pieces with the same ``block`` number come from one block: they are joined by ``joint`` (the
    separator before the piece), and each run of them is enclosed in ``head`` and ``tail``.
    ``leads`` marks a piece that introduces the next one; ``sentence`` one that may be repeated as
    overlap.
    """

    text: str
    size: int
    block: int
    joint: str = "\n"
    head: str = ""
    tail: str = ""
    frame: int = 0
    leads: bool = False
    sentence: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in tokens of a chunk's own text: the ``target`` and the hard maximum ``most``."""

    target: int
    most: int


def pieces_of(block: Block, number: int, size: Size, limits: Limits) -> list[Piece]:
    """Return a block whole if it fits, else cut where its kind allows."""
    text = markdown(block)
    whole = size(text)
    if isinstance(block, ItemList | Table | Code):
        if whole <= limits.most:
            return [Piece(text, whole, number)]
        return list(_cut_block(block, number, size, limits.most))
    if whole <= limits.target:
        return [Piece(text, whole, number, leads=_leads(text))]
    parts = cut(text, limits.target, size)
    return [Piece(p.text, size(p.text), number, joint=p.joint, sentence=True) for p in parts]


def _leads(text: str) -> bool:
    """Return whether a paragraph introduces the next: a label, a question, "You need:"."""
    if text.endswith(":"):
        return True
    return len(text) <= _LONGEST_LABEL and not text.endswith((".", "!", ";", ",", ")"))


def pack(pieces: Sequence[Piece], limits: Limits) -> list[str]:
    """Return chunk texts that hold all pieces in order, as even and close to target as possible."""
    texts = []
    before: Piece | None = None
    for start, end in _ranges(pieces, limits):
        run = list(pieces[start:end])
        if before and _overlaps(before, run, limits):
            run.insert(0, before)
        texts.append(_text(run))
        before = pieces[end - 1]
    return texts


def _cut_block(
    block: ItemList | Table | Code, number: int, size: Size, most: int
) -> Iterable[Piece]:
    if isinstance(block, ItemList):
        for item in block.items:
            yield from _lines(item, number, size, most)
    elif isinstance(block, Table):
        yield from _rows(block, number, size, most)
    else:
        fence = code_fence(block)
        frame = size(f"{fence}{block.language}") + size(fence)
        for piece in _code(block, number, size, most - frame):
            yield replace(piece, head=f"{fence}{block.language}\n", tail=f"\n{fence}", frame=frame)


def _lines(text: str, number: int, size: Size, most: int) -> Iterable[Piece]:
    """Yield an item whole, or its lines, or parts of its lines, each on a line of its own."""
    whole = size(text)
    if whole <= most:
        yield Piece(text, whole, number)
        return
    for line in text.split("\n"):
        for place, part in enumerate(cut(line, most, size)):
            joint = "\n" if place == 0 else part.joint
            yield Piece(part.text, size(part.text), number, joint=joint)


def _rows(table: Table, number: int, size: Size, most: int) -> Iterable[Piece]:
    head = "\n".join(header_lines(table))
    frame = size(head) if head else 0
    if frame > most // 2:
        yield from _lines(head, number, size, most)
        head, frame = "", 0
    for row in table.rows:
        for piece in _lines(row_line(row), number, size, most - frame):
            yield replace(piece, head=f"{head}\n" if head else "", frame=frame)


def _code(code: Code, number: int, size: Size, most: int) -> Iterable[Piece]:
    most = max(most, 1)
    joint = "\n"
    for group in re.split(r"(\n(?:[ \t]*\n)+)", code.text):
        if not group.strip():
            joint = group or joint
            continue
        for place, piece in enumerate(_lines(group, number, size, most)):
            yield replace(piece, joint=joint) if place == 0 else piece
        joint = "\n"


def _ranges(pieces: Sequence[Piece], limits: Limits) -> list[tuple[int, int]]:
    """Return the cheapest partition of the sequence (dynamic programming over end positions)."""
    best = [0.0] + [float("inf")] * len(pieces)
    cut_at = [0] * (len(pieces) + 1)
    for end in range(1, len(pieces) + 1):
        size = 0
        for start in range(end - 1, -1, -1):
            size += _added(pieces, start, end)
            if size > limits.most and start < end - 1:
                break
            cost = best[start] + _cost(pieces, end, size, limits)
            if cost < best[end]:
                best[end], cut_at[end] = cost, start
    ranges = []
    end = len(pieces)
    while end > 0:
        ranges.append((cut_at[end], end))
        end = cut_at[end]
    return ranges[::-1]


def _added(pieces: Sequence[Piece], start: int, end: int) -> int:
    """Return the tokens that a piece adds to a chunk, counting each run's frame only once."""
    piece = pieces[start]
    same_run = start + 1 < end and pieces[start + 1].block == piece.block
    return piece.size + (0 if same_run else piece.frame)


def _cost(pieces: Sequence[Piece], end: int, size: int, limits: Limits) -> float:
    room = limits.target if size <= limits.target else max(1, limits.most - limits.target)
    cost = float(((size - limits.target) / room) ** 2)
    if end < len(pieces):
        cost += _LEAD_COST if pieces[end - 1].leads else 0.0
        cost += _WITHIN_BLOCK_COST if pieces[end - 1].block == pieces[end].block else 0.0
    return cost


def _overlaps(before: Piece, run: Sequence[Piece], limits: Limits) -> bool:
    total = before.size + sum(piece.size for piece in run)
    return (
        before.sentence
        and before.block == run[0].block
        and before.size <= limits.target * OVERLAP
        and total <= limits.most
    )


def _text(run: Sequence[Piece]) -> str:
    parts: list[str] = []
    for position, piece in enumerate(run):
        previous = run[position - 1] if position else None
        if previous is not None and previous.block == piece.block:
            parts.append(piece.joint + piece.text)
            continue
        if previous is not None:
            parts.append(previous.tail + "\n\n")
        parts.append(piece.head + piece.text)
    parts.append(run[-1].tail)
    return "".join(parts)
