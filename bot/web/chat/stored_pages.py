"""Show a stored page to those who may read it, with an answer's quotes highlighted.

Repeated headings and overlaps of chunks are removed. A page that the caller may not read is a 404,
like one that does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import aiohttp_jinja2
from aiohttp import web
from markupsafe import Markup

from bot.domain.formatting import answered_text
from bot.domain.texts import changed, tr
from bot.web.auth.identity import principals_of
from bot.web.pages.safe_html import passage_html, quote_spans
from rag.types import ANSWERS_SPACE, Chunk, Principal


class StoredPages(Protocol):
    """The part of rag.ports.SearchIndex that the chat shows pages from. Raises RagError."""

    async def spaces(self, tenant: str) -> Mapping[str, int]: ...

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]: ...


_BY_PEOPLE = tr("Answers by colleagues")

MAX_QUOTES = 10
"""Maximum number of quotes to highlight; an answer's links contain no more."""

_MAX_OVERLAP = 600
_MIN_OVERLAP = 20


@dataclass(frozen=True, slots=True)
class PagePart:
    """A part of a page under one heading; ``page`` is the page number in paged documents."""

    heading: str
    page: int | None
    html: Markup


def page_parts(
    chunks: Sequence[Chunk], *, chunk_id: str, quotes: Sequence[str]
) -> tuple[PagePart, ...]:
    """Return a page's parts, with the quotes highlighted in the chunk they were taken from.

    When that chunk is gone because the page was edited, the first chunk with a quote is used.
    """
    quotes = quotes[:MAX_QUOTES]
    before = [None, *chunks[:-1]] if chunks else []
    quoted = _quoted_chunk(chunks, chunk_id, quotes)
    return tuple(
        _page_part(previous, chunk, quotes if chunk.id == quoted else ())
        for previous, chunk in zip(before, chunks, strict=True)
    )


def has_highlight(parts: Sequence[PagePart]) -> bool:
    """Return whether anything is highlighted."""
    return any("<mark" in part.html for part in parts)


def _quoted_chunk(chunks: Sequence[Chunk], chunk_id: str, quotes: Sequence[str]) -> str:
    holding = [chunk.id for chunk in chunks if quote_spans(chunk.text, quotes)]
    return chunk_id if chunk_id in holding else next(iter(holding), "")


def _page_part(previous: Chunk | None, chunk: Chunk, quotes: Sequence[str]) -> PagePart:
    text = chunk.text
    if previous is not None and previous.section == chunk.section:
        kept = text[_overlap(previous.text, text) :]
        text = kept if len(quote_spans(kept, quotes)) == len(quote_spans(text, quotes)) else text
    same = previous is not None and _heading_of(previous) == _heading_of(chunk)
    return PagePart(
        heading="" if same else _heading_of(chunk),
        page=chunk.document_page,
        html=passage_html(text, quotes),
    )


def _heading_of(chunk: Chunk) -> str:
    if chunk.document_page is not None:
        return tr("Page {number}", number=chunk.document_page)
    return chunk.section if chunk.section != chunk.title else ""


def _overlap(before: str, after: str) -> int:
    """Return the number of characters at the start of ``after`` that repeat ``before``'s end."""
    longest = min(len(before), len(after), _MAX_OVERLAP)
    for size in range(longest, _MIN_OVERLAP, -1):
        if before.endswith(after[:size]):
            return size
    return 0


QUOTES_SHOWN = tr("The highlighted lines are quoted in the answer.")
QUOTES_GONE = tr(
    "This page has changed since the answer was given: the quoted lines are no longer on it."
)


@dataclass(frozen=True, slots=True)
class StoredPageRoutes:
    """Handler of a stored page; one that the caller may not read is a 404, too."""

    pages: StoredPages
    tenant: str

    def mount(self, app: web.Application) -> None:
        """Add the route."""
        app.router.add_get("/pages/{space}/{page:.+}", self.page)
        app.router.add_get("/answers/{id}", self.answer)

    async def page(self, request: web.Request) -> web.Response:
        """Show a page, with the quotes of the query string highlighted."""
        return await self._page(request, request.match_info["space"], request.match_info["page"])

    async def answer(self, request: web.Request) -> web.Response:
        """Show an answer by a person, as a page."""
        return await self._page(request, ANSWERS_SPACE, f"{request.match_info['id']}.md")

    async def _page(self, request: web.Request, space: str, page: str) -> web.Response:
        principals = await principals_of(request, self.tenant)
        chunks = await self.pages.page(self.tenant, space, page, principals)
        if not chunks:
            return _not_found(request)
        quotes = request.query.getall("quote", [])
        parts = page_parts(chunks, chunk_id=request.query.get("chunk", ""), quotes=quotes)
        note = QUOTES_SHOWN if has_highlight(parts) else QUOTES_GONE
        first = chunks[0]
        freshness = (
            changed(answered_text(first.updated_by, first.updated_at), _capitalised)
            if space == ANSWERS_SPACE
            else ""
        )
        return aiohttp_jinja2.render_template(
            "web/page.html",
            request,
            {
                "title": first.title,
                "trail": (_BY_PEOPLE,) if space == ANSWERS_SPACE else _breadcrumb(first),
                "freshness": freshness,
                "note": note if any(map(str.strip, quotes)) else "",
                "parts": parts,
            },
        )


def _capitalised(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _breadcrumb(chunk: Chunk) -> tuple[str, ...]:
    """Return the breadcrumb of a page: the space and its parent pages."""
    trail = chunk.breadcrumb
    return trail[: trail.index(chunk.title)] if chunk.title in trail else trail


def _not_found(request: web.Request) -> web.Response:
    return aiohttp_jinja2.render_template(
        "trouble.html",
        request,
        {
            "title": tr("Page not found"),
            "text": tr("It may have moved, or you don't have access to it."),
        },
        status=404,
    )
