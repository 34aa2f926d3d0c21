"""Make Markdown safe to post, split it without breaking code, and normalise code for every chat.

Disarmed text has no live link, image or bare URL. Some chats know only code between three
backticks or one; other Markdown code would be text there, with live URLs, so it is rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from bot.domain.texts import Text, changed, on_texts

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_FENCE_MARK = re.compile(r"`{3,}|~{3,}")
_INLINE_CODE = re.compile(r"(?<![`\\])(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\n]*\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\n]*\)")
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]{1,31}:[^<>\s]*)>", re.IGNORECASE)
_DEFINITION = re.compile(r"^([ >*+-]*\[[^\[\]\n]+\]):", re.MULTILINE)
_ADDRESS = re.compile(
    r"(?<!\\)\\*+"
    r"(?:[a-z][a-z0-9+.-]{0,31}://[^\s<>]+"
    r"|(?<![^\W\u02cb]|@)[a-z0-9_][a-z0-9_-]{0,62}+\.(?:[a-z0-9_-]{1,63}+\.){0,9}[a-z]{2,63}(?![^\W\u02cb]|@)"
    r"(?:[:/?#][^\s<>]*)?)",
    re.IGNORECASE,
)
"""Bounded repetitions, so that the time does not grow with the square of a text's length: a label
has at most 63 characters, and of many labels only the last ones need to match. The replacement of a
lone backtick is a letter in Unicode, but not beside a URL."""
_LONE_BACKTICK = "\u02cb"
_TRAILING = ".,;:!?)]}'\"*_\\"


_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters that change the direction of the text after them."""


@on_texts
def without_direction_marks(text: str) -> str:
    """Return the text without characters that change the reading direction."""
    return _TURNING.sub("", text)


@on_texts
def disarm(text: str) -> str:
    """Return the text with every link, image and URL made inert; code is unchanged.

    Labels stay and destinations are removed; a bare URL becomes code, which no platform links.
    Angle brackets are left to the adapter, because each platform escapes them differently.
    """
    return "\n\n".join(block if is_fence(block) else _disarm_prose(block) for block in blocks(text))


@on_texts
def disarm_inline(text: str) -> str:
    """Return inline Markdown with every link, image and URL made inert, and no fence in it."""
    return disarm(_FENCE_MARK.sub(lambda mark: without_code(mark[0]), text))


def split(text: str, limit: int, size: Callable[[str], int] = len) -> tuple[str, ...]:
    """Split Markdown into parts of at most ``limit``, between blocks, else lines, else words.

    A code block that fits is not split; one that does not is closed and opened again. ``size``
    must not shrink when text is appended. A text of ours that fits keeps its language.
    """
    if isinstance(text, Text) and size(text) <= limit:
        return (text,)
    pieces = (piece for block in blocks(text) for piece in _pieces(block, limit, size))
    return tuple(_packed(pieces, "\n\n", lambda part: size(part) <= limit)) or ("",)


def clip(text: str, length: int) -> str:
    """Return the text on one line; a longer one is cut at a word and ends with an ellipsis."""
    return changed(text, partial(_clipped, length=length))


def _clipped(text: str, length: int) -> str:
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    cut = line.rfind(" ", 0, length)
    return line[: cut if cut > length // 2 else length - 1].rstrip() + "\u2026"


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to all text outside code."""
    return "\n\n".join(
        block if is_fence(block) else _between_code(block, change) for block in blocks(text)
    )


def _disarm_prose(text: str) -> str:
    return _between_code(text, _disarm_span)


def _disarm_span(text: str) -> str:
    # A lone backtick would pair with one of ours and make a URL live.
    text = text.replace("`", _LONE_BACKTICK)
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = text.replace("](", "] (")
    text = _DEFINITION.sub(r"\1 :", text)
    text = _AUTOLINK.sub(r"\1", text)
    return _ADDRESS.sub(_as_code, text)


def _as_code(match: re.Match[str]) -> str:
    found = match[0].lstrip("\\")
    address = found.rstrip(_TRAILING)
    return f"`{address}`{found[len(address) :]}"


def _between_code(text: str, change: Callable[[str], str]) -> str:
    """Apply a change outside the inline code of a text without fences."""
    shown = ""
    end = 0
    for code in _INLINE_CODE.finditer(text):
        shown = _apart(_apart(shown, change(text[end : code.start()])), code[0])
        end = code.end()
    return _apart(shown, change(text[end:]))


def _apart(before: str, after: str) -> str:
    """Join two pieces so that their backticks stay separate."""
    return f"{before} {after}" if before[-1:] == after[:1] == "`" else before + after


def is_fence(block: str) -> bool:
    """Return whether a block is fenced code."""
    return _FENCE.match(block) is not None


def blocks(text: str) -> Iterator[str]:
    """Yield paragraphs and closed code blocks, in order."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        opening = _FENCE.match(line)
        if fence:
            lines.append(line)
            if opening and closes(line, fence):
                yield "\n".join(lines)
                lines, fence = [], ""
        elif opening or not line.strip():
            if lines:
                yield "\n".join(lines)
            lines, fence = ([line], opening[1]) if opening else ([], "")
        else:
            lines.append(line)
    if lines:
        yield "\n".join([*lines, fence] if fence else lines)


def closes(line: str, fence: str) -> bool:
    """Return whether a line closes the code block of a fence."""
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _pieces(block: str, limit: int, size: Callable[[str], int]) -> Sequence[str]:
    if size(block) <= limit:
        return [block]
    opening = _FENCE.match(block)
    if opening is None:
        return _packed(block.split("\n"), "\n", lambda part: size(part) <= limit)
    lines = block.split("\n")
    body = _packed(lines[1:-1], "\n", lambda part: size(_fenced(opening[1], part)) <= limit)
    return [_fenced(opening[1], part) for part in body]


def _fenced(fence: str, body: str) -> str:
    return f"{fence}\n{body}\n{fence}"


def _packed(
    units: Sequence[str] | Iterator[str], joint: str, fits: Callable[[str], bool]
) -> list[str]:
    """Join units while they fit; split a unit that does not fit alone.

    How many units go together is searched by doubling and halving: measuring after each one costs
    the square of a long block's length.
    """
    pieces = [piece for unit in units for piece in _cut(unit, fits)]
    packed: list[str] = []
    start = 0
    while start < len(pieces):
        end = _end_of_fitting(pieces, start, joint, fits)
        packed.append(joint.join(pieces[start:end]))
        start = end
    return packed


def _end_of_fitting(
    pieces: Sequence[str], start: int, joint: str, fits: Callable[[str], bool]
) -> int:
    """Return the end of the longest run of pieces from ``start`` that fits, at least one piece."""
    most = len(pieces) - start
    return start + _most_that_fit(most, lambda n: fits(joint.join(pieces[start : start + n])))


def _cut(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    start = 0
    while start < len(text) or not text:
        rest = len(text) - start
        longest = _most_that_fit(rest, partial(_fits_from, text, start, fits))
        if longest >= rest:
            yield text[start:]
            return
        end = start + longest
        space = text.rfind(" ", start + 1, end + 1)
        at = space if space - start > longest // 2 else end
        yield text[start:at]
        start = at + text.startswith(" ", at)


def _fits_from(text: str, start: int, fits: Callable[[str], bool], length: int) -> bool:
    return fits(text[start : start + length])


def _most_that_fit(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to ``most`` that fits, at least 1."""
    low, step = 1, 1
    while low + step <= most and fits(low + step):
        low += step
        step *= 2
    high = min(low + step, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


_OPENING = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_INLINE_LONG = re.compile(r"(?<![`\\])(`{2,})(?!`)([^\n]+?)(?<!`)\1(?!`)")
_BACKTICK_FENCE = "```"
_LOOKS_ALIKE = "\u02cb"
_INERT = str.maketrans({"`": _LOOKS_ALIKE, "~": "\u223c"})


@on_texts
def plain_code(text: str) -> str:
    """Return Markdown whose code blocks are closed and fenced with three backticks."""
    return "\n".join(_normalised_lines(text))


@on_texts
def without_code(text: str) -> str:
    """Return a line of plain text without characters that begin code."""
    return text.translate(_INERT)


def _normalised_lines(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        opening = _OPENING.match(line)
        if fence and closes(line, fence):
            fence = ""
            yield _BACKTICK_FENCE
        elif fence:
            yield line.replace(_BACKTICK_FENCE, _LOOKS_ALIKE * 3)
        elif opening:
            fence = opening[1]
            yield _BACKTICK_FENCE + opening[2].replace("`", _LOOKS_ALIKE)
        else:
            yield _INLINE_LONG.sub(_one_backtick, line)
    if fence:
        yield _BACKTICK_FENCE


def _one_backtick(code: re.Match[str]) -> str:
    return f"`{code[2].strip().replace('`', _LOOKS_ALIKE)}`"
