"""Markdown as Teams shows it: no headings, no tables, no rules, and no markup that is live."""

from __future__ import annotations

import re

from bot.rendering.markdown import outside_code

_HEADING = re.compile(r"^ {0,3}#{1,6} +(.+?) *#*$", re.MULTILINE)
_RULE = re.compile(r"^ {0,3}(?:[-*_] *){3,}$\n?", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[ |:-]*\|[ |:-]*$\n?", re.MULTILINE)
_TABLE_ROW = re.compile(r"^ {0,3}\|(.+)\|[ \t]*$", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_\[\]()#|~!])")


def teams_markdown(text: str) -> str:
    """Return Markdown that every Teams client shows; tags in it are text."""
    return outside_code(text, _shown)


def teams_label(label: str) -> str:
    """Return plain text that may stand inside ``[label](url)``."""
    return _without_tags(_SPECIAL.sub(r"\\\1", label))


def _shown(text: str) -> str:
    text = _HEADING.sub(r"**\1**", text)
    text = _TABLE_RULE.sub("", text)
    text = _TABLE_ROW.sub(_row, text)
    return _without_tags(_RULE.sub("", text))


def _row(match: re.Match[str]) -> str:
    return "- " + " \u00b7 ".join(cell.strip() for cell in match[1].split("|"))


def _without_tags(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
