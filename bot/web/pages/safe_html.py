"""Render untrusted text as HTML: answers, quotes, passages, and people's messages.

Markdown has no links, images or raw HTML, and quotes are highlighted. People's messages keep their
line breaks, and plain https addresses become links.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

_MARK = re.compile(r"<code.*?</code>|\[(\d{1,2})\]", re.DOTALL)
_DOT = " \u00b7 "
_OPEN, _CLOSE = "\ue000", "\ue001"
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"^[\s|:+-]+$")
_CELL = re.compile(r"(?<!\\)\|")
_LINE_PREFIX = re.compile(r"^(\s*(?:[-*+]\s+|\d+[.)]\s+|#{1,6}\s+|>\s?)*)")
_EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th></th>\s*)+</tr>\s*</thead>\s*")
_TABLE = '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>'
_CODE = '<pre role="group" aria-label="Code" tabindex="0">'
_DISABLED_RULES = ["link", "image", "autolink", "reference", "html_inline"]
_HEADINGS = {"h1": "h3", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6"}
_HEADING = re.compile(r"(</?)(h[1-5])>")


def answer_html(text: str, exchange_id: str, sources: int) -> Markup:
    """Return an answer as HTML; ``[n]`` becomes a link to source n if it exists.

    Backslashes are literal: in answers they are parts of paths, not Markdown escapes. Quoted table
    rows, whose cells are separated by middle dots, become a table again.
    """
    html = _render_markdown(_restore_tables(_without_marks(text), "> "), literal_backslashes=True)
    html = _EMPTY_HEAD.sub("", html)

    def link(match: re.Match[str]) -> str:
        number = int(match.group(1) or 0)
        if not 1 <= number <= sources:
            return match.group()
        target = f"s-{escape(exchange_id)}-{number}"
        return f'<a class="mark" href="#{target}" aria-label="Source {number}">{number}</a>'

    return Markup(_MARK.sub(link, html))  # noqa: S704 - rendered with raw HTML and links off


def quote_html(quote: str) -> Markup:
    """Return a quote as HTML; rows cut out of a table get a table head."""
    lines = _without_marks(quote).split("\n")
    rows = [bool(_ROW.match(line)) for line in lines]
    if all(rows) and not any(_TABLE_RULE.match(line) for line in lines):
        lines = [*_table_head(max(len(_cells(line)) for line in lines)), *lines]
    html = _render_markdown(_restore_tables("\n".join(lines), ""), literal_backslashes=True)
    return Markup(_EMPTY_HEAD.sub("", html))  # noqa: S704 - rendered with raw HTML and links off


def passage_html(text: str, quotes: Sequence[str] = ()) -> Markup:
    """Return a stored passage as HTML, with the quotes that it contains highlighted.

    The first highlight has the id ``quote``.
    """
    html = _render_markdown(
        _mark_quotes(_without_marks(text), [_without_marks(quote) for quote in quotes])
    )
    html = html.replace(_OPEN, '<mark id="quote">', 1).replace(_OPEN, "<mark>")
    html = html.replace(_CLOSE, "</mark>")
    return Markup(html)  # noqa: S704 - rendered with raw HTML and links off


def _render_markdown(text: str, *, literal_backslashes: bool = False) -> str:
    """Render Markdown; headings are moved below the levels of the page around it."""
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
    parser.disable([*_DISABLED_RULES, "escape"] if literal_backslashes else _DISABLED_RULES)
    html = _HEADING.sub(lambda found: f"{found[1]}{_HEADINGS[found[2]]}>", parser.render(text))
    html = html.replace("<table>", _TABLE).replace("</table>", "</table></div>")
    return html.replace("<pre>", _CODE)


def quote_spans(text: str, quotes: Sequence[str]) -> list[tuple[int, int]]:
    """Return the (start, end) spans of the quotes in a text, sorted and merged.

    A table row is also found by its cells with middle dots between them, as answers write it.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found for quote in quotes if (found := _quote_span(text, quote))):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _quote_span(text: str, quote: str) -> tuple[int, int] | None:
    if not quote.strip():
        return None
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    if _DOT not in quote:
        return None
    rows = (line for line in text.split("\n") if _ROW.match(line))
    row = next((row for row in rows if _DOT.join(_cells(row)) == quote.strip()), None)
    return None if row is None else (text.index(row), text.index(row) + len(row))


def _restore_tables(text: str, prefix: str) -> str:
    lines: list[str] = []
    for width, run in groupby(text.split("\n"), key=lambda line: _cell_count(line, prefix)):
        rows = list(run)
        if width > 1 and len(rows) > 1:
            cells = [row.removeprefix(prefix).replace("|", r"\|").split(_DOT) for row in rows]
            table = [*_table_head(width), *(f"| {' | '.join(row)} |" for row in cells)]
            rows = [prefix, *(f"{prefix}{row}" for row in table), prefix]
        lines += rows
    return "\n".join(lines)


def _cell_count(line: str, prefix: str) -> int:
    """Return the number of cells in a quoted line; 0 for other lines."""
    return len(line.split(_DOT)) if line.startswith(prefix) else 0


def _table_head(columns: int) -> list[str]:
    return ["|" + "  |" * columns, "|" + "---|" * columns]


def _without_marks(text: str) -> str:
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def _mark_quotes(text: str, quotes: Sequence[str]) -> str:
    for start, end in reversed(quote_spans(text, quotes)):
        marked = "\n".join(_mark_line(line) for line in text[start:end].split("\n"))
        text = text[:start] + marked + text[end:]
    return text


def _mark_line(line: str) -> str:
    if not line.strip() or _TABLE_RULE.match(line):
        return line
    if _ROW.match(line):
        return "|" + "|".join(f" {_OPEN}{cell}{_CLOSE} " for cell in _cells(line)) + "|"
    lead = _LINE_PREFIX.match(line)
    cut = lead.end() if lead else 0
    return f"{line[:cut]}{_OPEN}{line[cut:]}{_CLOSE}"


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in _CELL.split(inner)]


_ADDRESS = re.compile(r"https://[^\s<>\"'`\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
_ANCHOR = Markup('<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">{0}</a>')
_ENDING = ".,;:!?)]}"
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that change the direction of the surrounding text."""


def plain_html(text: str) -> Markup:
    """Return text as HTML; its line breaks need ``white-space: pre-wrap``.

    Only https addresses become links, and each shows its target. Addresses with a user before the
    host are not linked: they could pass for another host's.
    """
    seen = _INVISIBLE.sub("", text.replace("\r\n", "\n"))
    parts: list[Markup] = []
    end = 0
    for found in _ADDRESS.finditer(seen):
        address = found.group().rstrip(_ENDING)
        if not _is_honest_address(address):
            continue
        parts += [escape(seen[end : found.start()]), _link(address)]
        end = found.start() + len(address)
    return Markup("").join([*parts, escape(seen[end:])])


def _is_honest_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.netloc.isascii() and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def _link(address: str) -> Markup:
    return _ANCHOR.format(address)
