"""Make links to this server's own pages absolute, and let them open at the quoted text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote, urlencode

from bot.domain.interactions import Outcome, Reply, Response, Source
from bot.domain.messages import InteractionId

OWN_PAGES = "/pages/"
QUOTE_MARK = "#quote"
"""Fragment of the first quote that the URL of a stored page names."""

_CASES = "/board/escalations/"
_LONGEST_QUOTE = 150
_MOST_ENCODED = 450
"""Maximum characters of the quotes in a URL, so that messages and the sign-in can hold it."""


def with_public_links(outcome: Outcome, public_url: str | None) -> Outcome:
    """Return the outcome with links to this server's pages made absolute.

    Without ``public_url`` nothing changes; platforms then show such pages without a link.
    """
    if public_url is None:
        return outcome
    private = outcome.private
    return replace(
        outcome,
        response=_response(outcome.response, public_url),
        private=None if private is None else _reply(private, public_url),
    )


def public_link(url: str, public_url: str | None) -> str:
    """Return the URL of a page, made absolute if the page is this server's own."""
    return f"{public_url}{url}" if public_url and url.startswith(OWN_PAGES) else url


def link_to_quote(url: str, chunk_id: str, quotes: Sequence[str]) -> str:
    """Return the URL of one of our own pages with its quotes, as many as fit.

    A long quote is cut to its beginning. Other URLs are returned unchanged.
    """
    if not url.startswith(OWN_PAGES) or "?" in url or "#" in url:
        # Front matter may give any URL of this server, which is not changed.
        return url
    marked = urlencode([("chunk", chunk_id)], quote_via=quote)
    for each in filter(str.strip, quotes):
        more = f"{marked}&{urlencode([('quote', _beginning(each))], quote_via=quote)}"
        if len(more) > _MOST_ENCODED:
            break
        marked = more
    return f"{url}?{marked}{QUOTE_MARK}" if "&" in marked else url


def quotes_of(response: Response) -> Sequence[Sequence[str]]:
    """Return the answering quotes of each source of a response: its line if known."""
    if isinstance(response, Reply) and response.tone == "found":
        return [[source.line or source.quote] for source in response.sources]
    sources = response.sources if isinstance(response, Reply) else response.suggestions
    return [[source.quote] for source in sources]


def board_case(case_id: InteractionId, public_url: str | None) -> str:
    """Return the URL of a case on the board; "" without ``public_url``."""
    return f"{public_url}{_CASES}{case_id}" if public_url else ""


def _response(response: Response, public_url: str) -> Response:
    if isinstance(response, Reply):
        return _reply(response, public_url)
    return replace(response, suggestions=_sources(response.suggestions, response, public_url))


def _reply(reply: Reply, public_url: str) -> Reply:
    return replace(reply, sources=_sources(reply.sources, reply, public_url))


def _sources(
    sources: tuple[Source, ...], response: Response, public_url: str
) -> tuple[Source, ...]:
    """Return the sources of a response with absolute links, our own pages at the quote."""
    quotes = quotes_of(response)
    return tuple(
        replace(
            source, url=public_link(link_to_quote(source.url, source.chunk_id, lines), public_url)
        )
        for source, lines in zip(sources, quotes, strict=True)
    )


def _beginning(line: str) -> str:
    """Return the beginning of a quote, cut at a word if possible."""
    if len(line) <= _LONGEST_QUOTE:
        return line
    return line[:_LONGEST_QUOTE].rpartition(" ")[0] or line[:_LONGEST_QUOTE]
