"""Sanitise a model's text: no hidden characters, links or mentions; no I/O.

Text that looks like an address becomes code, which no chat platform turns into a link.
"""

from __future__ import annotations

import html
import re
import unicodedata

LONGEST = 20_000
"""Maximum number of characters; longer text is cut."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_ESCAPED = re.compile(r"\\(?=[.\[\]()<>*`@:!#_~|])")
_FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_DEFINITION = re.compile(r"^[ \t]*\[[^\]\n]*\]:.*$", re.MULTILINE)
_INLINE_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_REFERENCE_LINK = re.compile(r"!?\[([^\[\]]+)\]\[[^\[\]]*\]")
_SLACK_LABELLED = re.compile(r"<[^<>|\n]+\|([^<>|\n]*)>")
_COMMAND = re.compile(r"<[!@#][^<>\n]*>")
_TAG = re.compile(
    r"<!--.*?-->|</[a-zA-Z][^<>]*>|<[a-zA-Z][^<>]*=[^<>]*>"
    r"|<(?:at|a|b|i|u|p|br|hr|em|img|svg|div|span|code|pre|script|style|strong)\b[^<>]*>",
    re.DOTALL,
)
_SOURCE_MARK = re.compile(r"(?<!\])(?:\s?\[\^?\d{1,2}(?:\s?,\s?\d{1,2})*\])+")
_BLOCK_MARK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)+", re.MULTILINE)
_STRONG = re.compile(r"\*\*|~~")
_EMPHASIS = re.compile(r"(?<![\w*])\*([^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])")
_HARMLESS = str.maketrans({"<": "\u2039", ">": "\u203a", "[": "(", "]": ")", "`": "'"})
_MENTION = re.compile(r"(?<![^\W_])@+(?=\w)|@+(?=(?:channel|here|everyone)\b)", re.IGNORECASE)

_LABEL = r"\w(?:[\w-]{0,253}[^\W_])?"
_DOT = r"(?:[.\u3002]|\s?\(\s?(?:\.|dot)\s?\)\s?)"
_HOST = rf"(?:{_LABEL}{_DOT}){{1,10}}"
"""Bounded, so that the time is not quadratic in a text's length.

The rest of a longer host becomes an address of its own.
"""
_TAIL = r"(?::\d{1,5})?(?:[/?#][^\s\u2039\u203a]*)?"
_ADDRESS = re.compile(
    r"(?<!\w)(?:"
    r"[\w*][\w+.*-]{0,30}://[^\s\u2039\u203a]*"
    r"|(?:data|javascript|vbscript|mailto|tel|sms|file|blob|about):[^\s\u2039\u203a]+"
    rf"|[\w.+%-]{{1,254}}@{_HOST}[^\W\d_]{{2,}}"
    rf"|\d{{1,3}}(?:\.\d{{1,3}}){{3}}{_TAIL}"
    rf"|{_HOST}(?:[^\W\d_]{{2,}}\w*|xn--[\w-]+){_TAIL}"
    r")",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?)'\"\u2019\u201d\u2026*_"


def visible(text: str) -> str:
    """Return a text in compatibility form (NFKC) without invisible characters.

    Tag, zero-width, bidirectional and control characters are removed; line ends and tabs stay.
    """
    return _without_hidden(unicodedata.normalize("NFKC", _without_hidden(text)))


def plain_text(text: str) -> str:
    """Return a model's text as plain text that is safe to show; lines stay lines.

    Links and images become their labels; tags, mentions and source marks are removed; addresses
    become code. Any input is valid; the function is idempotent.
    """
    return "".join(
        f"`{part}`" if is_address else _MENTION.sub("", part)
        for is_address, part in _parts(_unmarked(text))
    ).strip()


def addresses(text: str) -> tuple[str, ...]:
    """Return the web and mail addresses, hosts and file names that plain_text would find."""
    return tuple(part for is_address, part in _parts(_unmarked(text)) if is_address)


def without_addresses(text: str) -> str:
    """Return the text with a space in place of each address."""
    parts = _parts(_unmarked(text))
    return "".join(" " if is_address else part for is_address, part in parts)


def _without_hidden(text: str) -> str:
    kept = _HIDDEN.sub("", text)
    return "".join(
        character
        for character in kept
        if character in "\n\t" or unicodedata.category(character) not in _HIDDEN_CATEGORIES
    )


def _unmarked(text: str) -> str:
    """Return the text with all markup removed or neutralised."""
    text = _ESCAPED.sub("", visible(html.unescape(visible(text[:LONGEST]))))
    for mark in (_FENCE_LINE, _DEFINITION, _TAG):
        text = mark.sub("", text)
    text = _SOURCE_MARK.sub("", text)
    for link in (_SLACK_LABELLED, _INLINE_LINK, _REFERENCE_LINK):
        text = link.sub(r"\1", text)
    for mark in (_COMMAND, _BLOCK_MARK, _STRONG):
        text = mark.sub("", text)
    # Brackets are replaced from here on, whatever the rules above have left of them.
    text = _EMPHASIS.sub(r"\1", text.replace("`", "")).translate(_HARMLESS)
    return re.sub(r"[ \t]{2,}", " ", text)


def _parts(text: str) -> list[tuple[bool, str]]:
    """Return the parts of a text in order, each with whether it is an address."""
    parts, position = [], 0
    for match in _ADDRESS.finditer(text):
        end = match.start() + len(match.group().rstrip(_TRAILING))
        parts += [(False, text[position : match.start()]), (True, text[match.start() : end])]
        position = end
    return [*parts, (False, text[position:])]
