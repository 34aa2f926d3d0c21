"""Convert text for Teams: without live markup, and split to Teams' size limit; pure.

Messages have no headings, tables and rules. Messages and cards parse different Markdown: cards have
no code spans, so text that a code span makes inert in a message is escaped in a card.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from bot.domain.markdown import disarm, outside_code, split, without_code
from bot.domain.texts import Text, join_texts, on_texts

ACTIVITY_BUDGET = 80_000
"""Bytes of a whole activity as UTF-16.

Microsoft names 100 KB, in UTF-16 and with everything, and recommends 80 KB for what is to be
delivered for certain: https://learn.microsoft.com/microsoftteams/platform/bots/how-to/format-your-bot-messages
(its note on the size limit, read in November 2026). Earlier versions of that page said 40 KB and
28 KB, which still is the limit of incoming webhooks. What Teams refuses with 413 all the same is
sent again, shortened.
"""

CONTENT_BUDGET = ACTIVITY_BUDGET - 5_000
"""Bytes for our content; the rest is for addressing, which is added on sending."""


def size(value: object) -> int:
    """Return the bytes of a value as JSON in UTF-16."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass"))


def largest_fitting(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to ``count`` that fits, at least 1.

    ``fits`` must be monotonic. Galloping search: few calls, none with a number above twice the
    result, so that a very long text costs little.
    """
    low, high = 1, 2
    while high <= count and fits(high):
        low, high = high, 2 * high
    high = min(high, count + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


_HEADING = re.compile(r"^ {0,3}#{1,6} +(.+)$", re.MULTILINE)
_RULE = re.compile(r"^ {0,3}(?:[-*_] *){3,}$\n?", re.MULTILINE)
QUOTE_MARKS = re.compile(r"^ {0,3}(?:> ?)+")
LINE_BREAK = re.compile(r"(?<=\S)\n(?!\s*(?:[-*+]|\d{1,3}[.)])\s)(?=\s*\S)")
"""A line break within a paragraph that is not followed by a list item."""

_SPECIAL = re.compile(r"([\\`*_\[\]()#|~!])")
_MENTION_TAG = re.compile(r"<(?=/?at\b)", re.IGNORECASE)
_INLINE_CODE = re.compile(r"`([^`\n]+)`")
_CARD_FUNCTION = re.compile(r"\{(?=\{)")
_SCHEME = re.compile(r":(?=//)")
_DOMAIN_DOT = re.compile(r"(?<=\w)\.(?=[a-z]{2})", re.IGNORECASE)
_JOINER = "\u2060"
"""Word joiner: has no width, allows no line break, and stops automatic links."""

_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_TAB = 4


@on_texts
def teams_markdown(text: str) -> str:
    """Return Markdown that every Teams client renders; tags in it are text."""
    return _MENTION_TAG.sub(f"<{_JOINER}", outside_code(text, _message_prose))


@on_texts
def teams_label(label: str) -> str:
    """Return plain text for use inside ``[label](url)``."""
    return _without_tags(_literal(label))


@on_texts
def teams_plain(line: str) -> str:
    """Return a line of plain text with nothing live in it; URLs become code spans."""
    return outside_code(disarm(without_code(line)), teams_label)


def markdown_link(label: str, url: str) -> str:
    """Return a link with a label of ours, for messages and cards."""
    return join_texts("", ("[", label, f"]({url})"))


@on_texts
def card_markdown(text: str) -> str:
    """Return inert Markdown without quotes and blocks of code as a card's text.

    Cards have no headings and rules, and join lines that follow each other.
    """
    return card_text(outside_code(text, _card_paragraphs))


@on_texts
def card_text(text: str) -> str:
    """Return inert Markdown (bot.domain.markdown.disarm) as a card's text.

    Cards have no code spans: code is shown as text, with every character escaped.
    """
    parts = _INLINE_CODE.split(text)
    shown = [_card_code(part) if n % 2 else _card_prose(part) for n, part in enumerate(parts)]
    # Braces on both sides of a code span meet when its marks are gone.
    return _unlinked(without_card_functions("".join(shown)))


@on_texts
def card_plain(text: str) -> str:
    """Return plain text for a card: line breaks and indents are kept."""
    literal = _literal(text.replace("\t", " " * _TAB).replace("`", "\u02cb"))
    indented = _INDENT.sub(lambda spaces: "\u00a0" * len(spaces[0]), _without_tags(literal))
    return _unlinked(without_card_functions(indented)).replace("\n", "\n\n")


def without_card_functions(text: str) -> str:
    """Break the functions that cards evaluate: ``{{DATE(…)}}`` and ``{{TIME(…)}}``."""
    return _CARD_FUNCTION.sub(f"{{{_JOINER}", text)


def _message_prose(text: str) -> str:
    text = _HEADING.sub(_heading, text)
    return _without_tags(_RULE.sub("", text))


def _heading(match: re.Match[str]) -> str:
    words = match[1].rstrip(" ").rstrip("#").rstrip(" ")
    return f"**{words}**" if words else match[0]


def _card_paragraphs(text: str) -> str:
    return LINE_BREAK.sub("\n\n", _RULE.sub("", _HEADING.sub(_heading, text)))


def _card_code(code: str) -> str:
    return _without_tags(without_card_functions(_literal(code)))


def _card_prose(text: str) -> str:
    return _without_tags(without_card_functions(text.replace("`", "").replace("](", "] (")))


def _literal(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _without_tags(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _unlinked(text: str) -> str:
    return _DOMAIN_DOT.sub(f"{_JOINER}.", _SCHEME.sub(f":{_JOINER}", text))


_CLOSING_BYTES = 100
"""Bytes reserved for markup closed before a cut, reopened after it, or moved across it."""

_HALF_CITATION = re.compile(r"\\?\[\d{0,3}\Z|\\\Z")
_QUOTE_LINE = re.compile(r"^ {0,3}> ?")
_PAIRS = ("`", "**")


def split_markdown(text: str, limit: int) -> tuple[str, ...]:
    """Split text into parts of at most ``limit`` bytes (`size`).

    Inline code, bold and quotes continue in the next part; citation marks are never split. Code has
    single backticks (bot.domain.markdown.plain_code). A text of ours that fits keeps its language.
    """
    if isinstance(text, Text) and size(text) <= limit:
        return (text,)
    return tuple(_closed_parts(split(text, limit - _CLOSING_BYTES, size)))


def _closed_parts(parts: Sequence[str]) -> Iterator[str]:
    rest = parts[0]
    for following in parts[1:]:
        half = _HALF_CITATION.search(rest)
        kept = rest[: half.start()] if half else rest
        begun = f"{half[0] if half else ''}{following}"
        quote = _quote_mark(kept, begun)
        for pair in _PAIRS:
            kept, begun = _closed(kept, begun, pair)
        yield kept
        rest = quote + begun
    yield rest


def _closed(before: str, after: str, pair: str) -> tuple[str, str]:
    """Close a pair that is open at a cut, and reopen it after; never leave an empty pair."""
    if not _is_open(before, pair):
        return before, after
    kept = before.removesuffix(pair) if before.endswith(pair) else before + pair
    return kept, after.removeprefix(pair) if after.startswith(pair) else pair + after


def _is_open(text: str, pair: str) -> bool:
    return text.count(pair) % 2 == 1


def _quote_mark(text: str, following: str) -> str:
    """Return the quote mark for the next part if the cut is inside a quote."""
    mark = _QUOTE_LINE.match(text.rpartition("\n")[2])
    return mark[0] if mark and not _QUOTE_LINE.match(following) else ""
