"""Make Markdown safe to post, cut it without breaking code, and normalise code for every chat.

In what is disarmed nothing is live: no link, image or bare address. Some chats know code between
three backticks or one, and nothing else; what is code to Markdown alone would be text there,
with live addresses, so it is written as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
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
"""What anybody writes is searched, so the time must not grow with the square of its length: a name
has labels of 63 characters, and of very many labels only the last ones need be found. What stands
for a lone backtick is a letter to Unicode, and none beside an address."""
_LONE_BACKTICK = "\u02cb"
_TRAILING = ".,;:!?)]}'\"*_\\"


_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of the words after them around, and of words not theirs."""


def without_direction_marks(text: str) -> str:
    """Return the text without what makes the words beside it read in another direction."""
    return _TURNING.sub("", text)


def disarm(text: str) -> str:
    """Return the text with every link, image and address made inert; code is kept as it is.

    Labels stay, destinations go; a bare address becomes code, which no platform turns into a
    link. Angle brackets are left for the adapter, since each platform escapes them its own way.
    """
    return "\n\n".join(block if is_fence(block) else _disarm_prose(block) for block in blocks(text))


def split(text: str, limit: int, size: Callable[[str], int] = len) -> tuple[str, ...]:
    """Cut Markdown into parts of at most ``limit``, at the best place that fits.

    Between blocks first, then lines, then words. A code block that fits is never cut; one that
    does not is closed and opened again. ``size`` must not shrink when text is appended.
    """
    pieces = (piece for block in blocks(text) for piece in _pieces(block, limit, size))
    return tuple(_packed(pieces, "\n\n", lambda part: size(part) <= limit)) or ("",)


def clip(text: str, length: int) -> str:
    """Return the text on one line, cut at a word and marked when it is longer than ``length``."""
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    cut = line.rfind(" ", 0, length)
    return line[: cut if cut > length // 2 else length - 1].rstrip() + "\u2026"


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to everything in the text that is not code."""
    return "\n\n".join(
        block if is_fence(block) else _between_code(block, change) for block in blocks(text)
    )


def _disarm_prose(text: str) -> str:
    return _between_code(text, _disarm_span)


def _disarm_span(text: str) -> str:
    # A backtick without its pair would pair with one of ours and set an address free.
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
    """Apply a change around the inline code of a text without fences."""
    shown = ""
    end = 0
    for code in _INLINE_CODE.finditer(text):
        shown = _apart(_apart(shown, change(text[end : code.start()])), code[0])
        end = code.end()
    return _apart(shown, change(text[end:]))


def _apart(before: str, after: str) -> str:
    """Join two pieces so that their backticks do not run into one."""
    return f"{before} {after}" if before[-1:] == after[:1] == "`" else before + after


def is_fence(block: str) -> bool:
    """Tell whether a block is code between fences."""
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
    """Tell whether a line ends the code block that a fence opened."""
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
    """Join units as long as they fit; one that does not fit alone is cut."""
    packed: list[str] = []
    for unit in units:
        for piece in _cut(unit, fits):
            if packed and fits(packed[-1] + joint + piece):
                packed[-1] += joint + piece
            else:
                packed.append(piece)
    return packed


def _cut(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    while not fits(text) and len(text) > 1:
        longest = _longest(text, fits)
        space = text.rfind(" ", 1, longest + 1)
        at = space if space > longest // 2 else longest
        yield text[:at]
        text = text[at:].removeprefix(" ")
    yield text


def _longest(text: str, fits: Callable[[str], bool]) -> int:
    """Return the length of the longest beginning that fits, at least 1."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle]) else (low, middle - 1)
    return low


_OPENING = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_INLINE_LONG = re.compile(r"(?<![`\\])(`{2,})(?!`)([^\n]+?)(?<!`)\1(?!`)")
_BACKTICK_FENCE = "```"
_LOOKS_ALIKE = "\u02cb"
_INERT = str.maketrans({"`": _LOOKS_ALIKE, "~": "\u223c"})


def plain_code(text: str) -> str:
    """Return Markdown whose code blocks are closed and fenced with three backticks."""
    return "\n".join(_normalised_lines(text))


def without_code(text: str) -> str:
    """Return a line of plain text in which nothing begins code."""
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
