"""Render untrusted text as HTML: answers, quotes, passages, and people's messages.

Markdown has no links, images or raw HTML, and quotes are highlighted. People's messages keep their
line breaks, and plain https addresses become links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from bot.domain.urls import OWN_PAGES
from rag.parts import (
    Block,
    Citations,
    CitedText,
    Code,
    Item,
    ItemList,
    Omission,
    Paragraph,
    Part,
    Quotation,
    Table,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_MARK = re.compile(r"<code.*?</code>|\[(\d{1,2})\]", re.DOTALL)
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

    Backslashes are literal: in answers they are parts of paths, not Markdown escapes.
    """
    html = _render_markdown(_without_marks(text), literal_backslashes=True)

    def link(match: re.Match[str]) -> str:
        number = int(match.group(1) or 0)
        if not 1 <= number <= sources:
            return match.group()
        return _mark(exchange_id, number)

    return Markup(_MARK.sub(link, html))  # noqa: S704 - rendered with raw HTML and links off


def parts_html(parts: Iterable[Part], exchange_id: str, hrefs: Sequence[str]) -> Markup:
    """Return the parts of an answer as HTML; ``hrefs`` are the addresses of its sources.

    Citations are links to the sources in the list below. Code has a hidden button to copy it, which
    a script shows.
    """
    written = "\n".join(_Footnotes(exchange_id, tuple(hrefs)).html(part) for part in parts)
    return Markup(written)  # noqa: S704 - built from escaped text and from _inline


@dataclass(frozen=True, slots=True)
class _Footnotes:
    """Writes parts whose citations lead to the sources listed with an exchange."""

    exchange_id: str
    hrefs: tuple[str, ...]

    def html(self, part: Part) -> str:
        match part:
            case Paragraph():
                said = " ".join(map(self._cited, part.texts))
                return f'<p dir="auto">{said}</p>'
            case ItemList():
                return self._list(part)
            case Table():
                return _table_html(part) + self._marks_alone(part.citations)
            case Code():
                return _code_html(part) + self._marks_alone(part.citations)
            case Quotation():
                return self._quotation(part)
            case Omission():
                return f'<p class="quiet"><em>{escape(part.note)}</em></p>'

    def _cited(self, said: CitedText) -> str:
        marks = self._marks(said.citations)
        return f"{_inline(said.text)} {marks}" if marks else _inline(said.text)

    def _list(self, part: ItemList) -> str:
        items = "".join(f'<li dir="auto">{self._item(item)}</li>' for item in part.items)
        return f'<ol start="{part.start}">{items}</ol>' if part.ordered else f"<ul>{items}</ul>"

    def _item(self, item: Item) -> str:
        return self._cited(item.text) + "".join(map(self.html, item.blocks))

    def _quotation(self, part: Quotation) -> str:
        *before, end = part.blocks
        blocks = [*before, _with_citations(end, part.citations)]
        hrefs = (self.hrefs[n - 1] for n in part.citations if 1 <= n <= len(self.hrefs))
        cite = next(filter(None, hrefs), "")
        cited = f' cite="{escape(cite)}"' if cite else ""
        return f"<blockquote{cited}>{''.join(map(self.html, blocks))}</blockquote>"

    def _marks_alone(self, citations: Citations) -> str:
        marks = self._marks(citations)
        return f"<p>{marks}</p>" if marks else ""

    def _marks(self, citations: Citations) -> str:
        shown = (n for n in citations if 1 <= n <= len(self.hrefs))
        return "".join(_mark(self.exchange_id, number) for number in shown)


def _with_citations(block: Block, citations: Citations) -> Block:
    """Return the last block of a quotation with the quotation's sources."""
    match block:
        case Paragraph():
            *before, end = block.texts
            return replace(block, texts=(*before, replace(end, citations=citations)))
        case ItemList():
            *items, last = block.items
            return replace(block, items=(*items, _cited_item(last, citations)))
        case _:
            return replace(block, citations=citations)


def _cited_item(item: Item, citations: Citations) -> Item:
    if not item.blocks:
        return replace(item, text=replace(item.text, citations=citations))
    *before, end = item.blocks
    return replace(item, blocks=(*before, _with_citations(end, citations)))


def _mark(exchange_id: str, number: int) -> str:
    target = f"s-{escape(exchange_id)}-{number}"
    return f'<a class="mark" href="#{target}" aria-label="Source {number}">{number}</a>'


def _table_html(table: Table) -> str:
    heads = "".join(f'<th scope="col" dir="auto">{_inline(cell)}</th>' for cell in table.header)
    head = f"<thead><tr>{heads}</tr></thead>" if table.header else ""
    rows = "".join(f"<tr>{''.join(map(_cell_html, row))}</tr>" for row in table.rows)
    return f"{_TABLE}{head}<tbody>{rows}</tbody></table></div>"


def _cell_html(cell: str) -> str:
    return f'<td dir="auto">{_inline(cell)}</td>'


def _code_html(code: Code) -> str:
    button = '<button type="button" class="plain copy" hidden>Copy</button>'
    return f'<div class="code">{_CODE}<code>{escape(code.text)}</code></pre>{button}</div>'


def _inline(text: str) -> str:
    html: str = _inline_parser().renderInline(_without_marks(text))
    return html


@cache
def _inline_parser() -> MarkdownIt:
    return _parser().disable([*_DISABLED_RULES, "escape"])


def _parser() -> MarkdownIt:
    # Imported for the first page that shows text, not at every start.
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only if needed

    return MarkdownIt("commonmark", {"html": False, "breaks": True})


def openable(url: str) -> str:
    """Return the URL if it is http(s) or that of a page stored here, else ""."""
    return url if url.startswith(("https://", "http://", OWN_PAGES)) else ""


def quote_html(quote: str) -> Markup:
    """Return a quote as HTML; rows cut out of a table get a table head."""
    lines = _without_marks(quote).split("\n")
    rows = [bool(_ROW.match(line)) for line in lines]
    if all(rows) and not any(_TABLE_RULE.match(line) for line in lines):
        lines = [*_table_head(max(len(_cells(line)) for line in lines)), *lines]
    html = _render_markdown("\n".join(lines), literal_backslashes=True)
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
    parser = _parser().enable("table")
    parser.disable([*_DISABLED_RULES, "escape"] if literal_backslashes else _DISABLED_RULES)
    html = _HEADING.sub(lambda found: f"{found[1]}{_HEADINGS[found[2]]}>", parser.render(text))
    html = html.replace("<table>", _TABLE).replace("</table>", "</table></div>")
    return html.replace("<pre>", _CODE)


def quote_spans(text: str, quotes: Sequence[str]) -> list[tuple[int, int]]:
    """Return the (start, end) spans of the quotes in a text, sorted and merged."""
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
    return None if start < 0 else (start, start + len(quote))


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
