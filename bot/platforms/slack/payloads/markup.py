"""Convert between Slack's mrkdwn and plain text or Markdown, and tables to table blocks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bot.domain.markdown import outside_code, plain_code
from bot.domain.texts import on_texts
from rag.parts import Table

_TOKEN = re.compile(r"<([^<>\n]+)>")
_UNLABELLED = re.compile(r"<(?:[@#]|!subteam\^)([A-Z0-9]{2,20})>")
_NAME_SPACE = "\u00a0"
"""Joins the words of a name, so that a mention is recognisable as one in plain text."""

_QUOTE = re.compile(r"^( {0,3}(?:> ?)+)(.*)$", re.DOTALL)
_BOLD = re.compile(r"\*\*(?=\S)(.{1,1000}?)(?<=\S)\*\*")
"""Bounded, or unclosed marks would take time quadratic in their number."""

_HEADING = re.compile(r"^ {0,3}#{1,6} +(.+?) *#*$", re.MULTILINE)


def without_mention(text: str, bot_user_ids: frozenset[str]) -> str:
    """Remove the mentions of these users and nothing else.

    With no id known, a mention at the beginning of the text counts as the bot's.
    """
    if bot_user_ids:
        ids = "|".join(re.escape(user) for user in sorted(bot_user_ids))
        mention = re.compile(rf" ?<@(?:{ids})(?:\|[^<>]*)?>")
        stripped = mention.sub("", text)
    else:
        stripped = re.sub(r"^\s*<@[A-Z0-9]+(?:\|[^<>]*)?>", "", text)
    if stripped == text:
        return text.strip()
    return stripped.strip().removeprefix(":").removeprefix(",").strip()


def mentions(text: str, users: frozenset[str]) -> bool:
    """Return whether a text mentions one of these users."""
    return any(f"<@{user}>" in text or f"<@{user}|" in text for user in users)


def unlabelled_ids_in(text: str) -> frozenset[str]:
    """Return the ids of people, channels and groups that a text mentions without a name."""
    return frozenset(_UNLABELLED.findall(text))


def from_mrkdwn(text: str, names: Mapping[str, str] | None = None) -> str:
    """Convert mrkdwn to plain text: tokens to words, entities to characters.

    ``names`` maps ids to names in plain text. They are escaped like all else when they are shown.
    """
    return unescaped(_TOKEN.sub(lambda token: _word(token, names or {}), text))


def unescaped(text: str) -> str:
    """Decode the entities in a text; Slack's links and mentions stay as they are."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@on_texts
def escaped(text: str) -> str:
    """Escape mentions, links and channel calls; a quote mark that begins a line stays."""
    return "\n".join(_escaped_line(line) for line in text.split("\n"))


@on_texts
def escaped_label(label: str) -> str:
    """Escape plain text for use as the label in ``<url|label>``."""
    return _escaped(label).replace("|", "\u00a6")


@on_texts
def bold(text: str) -> str:
    """Return plain text in bold, which no mark in it can close."""
    return f"*{inert(text)}*"


@on_texts
def inert(text: str) -> str:
    """Escape plain text so that it can't close the bold or label around it."""
    return escaped_label(text).replace("*", "\u2217")


@on_texts
def to_mrkdwn(text: str) -> str:
    """Convert Markdown to escaped mrkdwn: bold and headings; the rest stays as it is."""
    return escaped(outside_code(text, _as_mrkdwn))


def _as_mrkdwn(text: str) -> str:
    return _BOLD.sub(r"*\1*", _HEADING.sub(r"**\1**", text))


def _escaped_line(line: str) -> str:
    quote = _QUOTE.match(line)
    return quote[1] + _escaped(quote[2]) if quote else _escaped(line)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _word(token: re.Match[str], names: Mapping[str, str]) -> str:
    target, _, label = token[1].partition("|")
    name = label.lstrip("@#") or _written(names.get(target[1:].removeprefix("subteam^"), ""))
    match target[0]:
        case "@" | "#":
            return f"{target[0]}{name or target[1:]}"
        case "!":
            return label or f"@{name or target[1:].partition('^')[0]}"
        case _:
            return f"{label} ({target})" if label and label != target else target


def _written(name: str) -> str:
    """Return a name escaped for insertion into mrkdwn whose entities are decoded later."""
    return _NAME_SPACE.join(_escaped(name).split())


MOST_TABLE_ROWS, MOST_TABLE_COLUMNS, MOST_TABLE_TEXT = 100, 20, 10_000
"""Slack's limits of a table block: rows, cells in a row, and characters over all cells."""

_STYLED = re.compile(r"\*\*(?=\S)(?P<bold>.{1,1000}?)(?<=\S)\*\*|`(?P<code>[^`\n]+)`")


def is_within_table_limits(table: Table) -> bool:
    """Return whether Slack takes a table as a block."""
    lines = table.lines
    size = sum(max(1, len(cell)) for line in lines for cell in line)
    return (
        0 < len(lines) <= MOST_TABLE_ROWS
        and len(lines[0]) <= MOST_TABLE_COLUMNS
        and size <= MOST_TABLE_TEXT
    )


def table_block(table: Table) -> Mapping[str, object]:
    """Return a table block. Its cells are rich text, in which nothing is a mention or link."""
    wrapped = [{"align": "left", "is_wrapped": True} for _ in table.lines[0]]
    header = [[_cell(cell, bold=True) for cell in table.header]] if table.header else []
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    return {"type": "table", "column_settings": wrapped, "rows": [*header, *rows]}


def _cell(text: str, *, bold: bool = False) -> Mapping[str, object]:
    elements = list(_styled(plain_code(text), bold=bold)) or [_literal(" ")]
    section = {"type": "rich_text_section", "elements": elements}
    return {"type": "rich_text", "elements": [section]}


def _styled(text: str, *, bold: bool) -> Iterator[Mapping[str, object]]:
    """Yield inline Markdown as elements; none is empty, which Slack refuses."""
    end = 0
    for found in _STYLED.finditer(text):
        if end < found.start():
            yield _literal(text[end : found.start()], bold=bold)
        if found["bold"]:
            yield from _styled(found["bold"], bold=True)
        else:
            yield _literal(found["code"], bold=bold, code=True)
        end = found.end()
    if end < len(text):
        yield _literal(text[end:], bold=bold)


def _literal(text: str, **style: bool) -> Mapping[str, object]:
    chosen = {name: True for name, on in style.items() if on}
    return {"type": "text", "text": text, **({"style": chosen} if chosen else {})}
