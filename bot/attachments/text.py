"""Bytes of a file as text, and long texts cut to what tells most; pure."""

from __future__ import annotations

import codecs
import re
from itertools import islice

from bot.routing.question import wrong_lines

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_COLOUR = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_LINE_ENDS = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_CONTROL_SHARE = 0.01
_GAP = "[\u2026]"
_LEAST_ROOM = 200


class NotText(Exception):
    """The bytes are no text."""


def decoded(content: bytes) -> str:
    """Return a file's text with plain line ends. Raises NotText.

    A byte order mark decides, else it is UTF-8; terminal colours and stray controls go.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotText from error
    text = _COLOUR.sub("", text)
    few = int(len(text) * _CONTROL_SHARE)
    # A file of nothing else is counted no further than that: everybody waits meanwhile.
    if next(islice(_CONTROL.finditer(text), few, None), None) is not None:
        raise NotText
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", _LINE_ENDS.sub("\n", text))


def shortened(text: str, room: int) -> str:
    """Return a text of at most ``room`` characters: its end, its beginning, and errors between.

    What was left out is marked. A text that fits comes back as it is; where there is next to no
    room, nothing does.
    """
    if len(text) <= room:
        return text
    if room < _LEAST_ROOM:
        return ""
    left = room - 2 * len(f"\n{_GAP}\n")
    first, last = left // 4, left // 2
    between = text[first : len(text) - last]
    told = "\n".join(wrong_lines(between))[: left - first - last]
    parts = [text[:first], _GAP, told, _GAP, text[len(text) - last :]]
    return "\n".join(parts if told else [parts[0], _GAP, parts[-1]])[:room]
