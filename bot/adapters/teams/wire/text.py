"""Markdown as Teams shows it: no headings, no tables, no rules, and no markup that is live.

Messages and cards read different Markdown: to a card a backtick is a backtick, so that what is
harmless as code in a message is made harmless otherwise there.
"""

from __future__ import annotations

import re

from bot.domain.text.markdown import disarm, outside_code, without_code

_HEADING = re.compile(r"^ {0,3}#{1,6} +(.+)$", re.MULTILINE)
_RULE = re.compile(r"^ {0,3}(?:[-*_] *){3,}$\n?", re.MULTILINE)
_TABLE_RULE = re.compile(r"^(?=[^|\n]*\|)[ |:-]+$\n?", re.MULTILINE)
_TABLE_ROW = re.compile(r"^ {0,3}\|(.+)\|[ \t]*$", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_\[\]()#|~!])")
_MENTION = re.compile(r"<(?=/?at\b)", re.IGNORECASE)
_CODE = re.compile(r"`([^`\n]+)`")
_FUNCTION = re.compile(r"\{(?=\{)")
_SCHEME = re.compile(r":(?=//)")
_DOT = re.compile(r"(?<=\w)\.(?=[a-z]{2})", re.IGNORECASE)
_JOINER = "\u2060"
"""Takes no room and parts no words, and nothing that looks for addresses reads past it."""

_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_TAB = 4


def teams_markdown(text: str) -> str:
    """Return Markdown that every Teams client shows; tags in it are text."""
    return _MENTION.sub(f"<{_JOINER}", outside_code(text, _shown))


def teams_label(label: str) -> str:
    """Return plain text that may stand inside ``[label](url)``."""
    return _without_tags(_literal(label))


def teams_plain(line: str) -> str:
    """Return a line of plain text as it is, with nothing live in it; an address becomes code."""
    return outside_code(disarm(without_code(line)), teams_label)


def card_text(text: str) -> str:
    """Return inert Markdown (bot.domain.text.markdown.disarm) as a card's text shows it.

    Cards know no code: it is shown as text, letter for letter.
    """
    parts = _CODE.split(text)
    shown = [_card_code(part) if n % 2 else _card_prose(part) for n, part in enumerate(parts)]
    return _unlinked("".join(shown))


def card_plain(text: str) -> str:
    """Return lines of plain text as a card shows them: each on its own, indents kept."""
    literal = _literal(text.replace("\t", " " * _TAB).replace("`", "\u02cb"))
    indented = _INDENT.sub(lambda spaces: "\u00a0" * len(spaces[0]), _without_tags(literal))
    return _unlinked(without_functions(indented)).replace("\n", "\n\n")


def without_functions(text: str) -> str:
    """Break what cards compute: ``{{DATE(…)}}`` and ``{{TIME(…)}}``."""
    return _FUNCTION.sub(f"{{{_JOINER}", text)


def _shown(text: str) -> str:
    text = _HEADING.sub(_heading, text)
    text = _TABLE_RULE.sub("", text)
    text = _TABLE_ROW.sub(_row, text)
    return _without_tags(_RULE.sub("", text))


def _heading(match: re.Match[str]) -> str:
    words = match[1].rstrip(" ").rstrip("#").rstrip(" ")
    return f"**{words}**" if words else match[0]


def _row(match: re.Match[str]) -> str:
    return "- " + " \u00b7 ".join(cell.strip() for cell in match[1].split("|"))


def _card_code(code: str) -> str:
    return _without_tags(without_functions(_literal(code)))


def _card_prose(text: str) -> str:
    return _without_tags(without_functions(text.replace("`", "").replace("](", "] (")))


def _literal(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _without_tags(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _unlinked(text: str) -> str:
    return _DOT.sub(f"{_JOINER}.", _SCHEME.sub(f":{_JOINER}", text))
