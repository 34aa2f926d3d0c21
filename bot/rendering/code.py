"""Code in Markdown, written as every chat's notation knows it: pure.

Some notations have code between three backticks or one, and nothing else. What is code to Markdown
alone would be text there, in which addresses are live.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.rendering.markdown import closes

_OPENING = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_INLINE = re.compile(r"(?<![`\\])(`{2,})(?!`)([^\n]+?)(?<!`)\1(?!`)")
_FENCE = "```"
_LOOKS_ALIKE = "\u02cb"
_INERT = str.maketrans({"`": _LOOKS_ALIKE, "~": "\u223c"})


def plain_code(text: str) -> str:
    """Return Markdown whose code blocks are closed and fenced with three backticks."""
    return "\n".join(_lines(text))


def without_code(text: str) -> str:
    """Return a line of plain text in which nothing begins code."""
    return text.translate(_INERT)


def _lines(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        opening = _OPENING.match(line)
        if fence and closes(line, fence):
            fence = ""
            yield _FENCE
        elif fence:
            yield line.replace(_FENCE, _LOOKS_ALIKE * 3)
        elif opening:
            fence = opening[1]
            yield _FENCE + opening[2].replace("`", _LOOKS_ALIKE)
        else:
            yield _INLINE.sub(_one_backtick, line)
    if fence:
        yield _FENCE


def _one_backtick(code: re.Match[str]) -> str:
    return f"`{code[2].strip().replace('`', _LOOKS_ALIKE)}`"
