"""Addresses of our own pages, made to open from where colleagues read; pure."""

from __future__ import annotations

from dataclasses import replace

from bot.types import InteractionId, Outcome, Reply, Response, Source

OWN_PAGES = "/pages/"
_CASES = "/board/escalations/"


def reachable_from_afar(outcome: Outcome, public_url: str | None) -> Outcome:
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


def reachable(url: str, public_url: str | None) -> str:
    """Return the address of a page, made absolute where it is this server's own."""
    return f"{public_url}{url}" if public_url and url.startswith(OWN_PAGES) else url


def board_case(case_id: InteractionId, public_url: str | None) -> str:
    """Return where colleagues open a case on the board; "" without ``public_url``."""
    return f"{public_url}{_CASES}{case_id}" if public_url else ""


def _response(response: Response, public_url: str) -> Response:
    if isinstance(response, Reply):
        return _reply(response, public_url)
    return replace(response, suggestions=_sources(response.suggestions, public_url))


def _reply(reply: Reply, public_url: str) -> Reply:
    return replace(reply, sources=_sources(reply.sources, public_url))


def _sources(sources: tuple[Source, ...], public_url: str) -> tuple[Source, ...]:
    return tuple(replace(source, url=reachable(source.url, public_url)) for source in sources)
