"""Make links to this server's own pages open from where colleagues read, at the quoted words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote, urlencode

from bot.domain.interactions import Outcome, Reply, Response, Source
from bot.domain.messages import InteractionId

OWN_PAGES = "/pages/"
QUOTE_MARK = "#quote"
"""Where a stored page has the first of the quotes that its address names."""

_CASES = "/board/escalations/"
_LONGEST_QUOTE = 150
_MOST_ENCODED = 450
"""Of the quotes in an address. A message has room for several, and so has what signing in keeps."""


def with_public_links(outcome: Outcome, public_url: str | None) -> Outcome:
    """Return the outcome with links to this server's pages made absolute.

    Without ``public_url`` nothing changes; a platform then names such a page without a link.
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
    """Return the address of a page, made absolute where it is this server's own."""
    return f"{public_url}{url}" if public_url and url.startswith(OWN_PAGES) else url


def link_to_quote(url: str, chunk_id: str, quotes: Sequence[str]) -> str:
    """Return the address of one of our own pages at its quotes, as many as are short enough.

    The beginning of a quote leads to it as well. Other addresses are returned as they are.
    """
    if not url.startswith(OWN_PAGES) or "?" in url or "#" in url:
        # Front matter may name any place of this server; what it says there stays.
        return url
    marked = urlencode([("chunk", chunk_id)], quote_via=quote)
    for each in filter(str.strip, quotes):
        more = f"{marked}&{urlencode([('quote', _beginning(each))], quote_via=quote)}"
        if len(more) > _MOST_ENCODED:
            break
        marked = more
    return f"{url}?{marked}{QUOTE_MARK}" if "&" in marked else url


def quotes_of(response: Response) -> Sequence[Sequence[str]]:
    """Return for each source of a response what of it answers: a line where one is known."""
    if isinstance(response, Reply) and response.tone == "found":
        return [[source.line or source.quote] for source in response.sources]
    sources = response.sources if isinstance(response, Reply) else response.suggestions
    return [[source.quote] for source in sources]


def board_case(case_id: InteractionId, public_url: str | None) -> str:
    """Return where colleagues open a case on the board; "" without ``public_url``."""
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
    """Return the sources of a response as they open from afar, our own pages at the quote."""
    quotes = quotes_of(response)
    return tuple(
        replace(
            source, url=public_link(link_to_quote(source.url, source.chunk_id, lines), public_url)
        )
        for source, lines in zip(sources, quotes, strict=True)
    )


def _beginning(line: str) -> str:
    """Return the beginning of a quote, whole words of it where it has any."""
    if len(line) <= _LONGEST_QUOTE:
        return line
    return line[:_LONGEST_QUOTE].rpartition(" ")[0] or line[:_LONGEST_QUOTE]
