"""Text that nobody vouches for, as HTML: no links, images or raw HTML; quotes highlighted."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

_MARK = re.compile(r"\[(\d{1,2})\]")
_OPEN, _CLOSE = "\ue000", "\ue001"
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^[\s|:+-]+$")
_LEAD = re.compile(r"^(\s*(?:[-*+]\s+|\d+[.)]\s+|#{1,6}\s+|>\s?)*)")


def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    return parser.enable("table").disable(["link", "image", "autolink", "reference", "html_inline"])


def answer_html(text: str, exchange_id: str, sources: int) -> Markup:
    """Return an answer as HTML; ``[n]`` becomes a link to source n where there is one."""
    html = _markdown().render(_plain(text))

    def link(match: re.Match[str]) -> str:
        number = int(match.group(1))
        if not 1 <= number <= sources:
            return match.group()
        return f'<a class="mark" href="#s-{escape(exchange_id)}-{number}">{number}</a>'

    return Markup(_MARK.sub(link, html))  # noqa: S704 - rendered with raw HTML and links off


def passage_html(text: str, quote: str = "") -> Markup:
    """Return a stored passage as HTML, with the quote highlighted where the passage has it."""
    html = _markdown().render(_highlighted(_plain(text), _plain(quote)))
    html = html.replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>")
    return Markup(html)  # noqa: S704 - rendered with raw HTML and links off


def _plain(text: str) -> str:
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def _highlighted(text: str, quote: str) -> str:
    start = text.find(quote) if quote.strip() else -1
    if start < 0:
        return text
    marked = "\n".join(_marked_line(line) for line in quote.split("\n"))
    return text[:start] + marked + text[start + len(quote) :]


def _marked_line(line: str) -> str:
    if not line.strip() or _RULE.match(line):
        return line
    if _ROW.match(line):
        cells = line.strip().strip("|").split("|")
        return "|" + "|".join(f" {_OPEN}{cell.strip()}{_CLOSE} " for cell in cells) + "|"
    lead = _LEAD.match(line)
    cut = lead.end() if lead else 0
    return f"{line[:cut]}{_OPEN}{line[cut:]}{_CLOSE}"
