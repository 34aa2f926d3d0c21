"""Check, normalise and make URLs: origins, redirect paths, database URLs, links to our own pages.

Pure: nothing is connected to. Error messages about a database URL never contain it, because it
holds a password.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from bot.domain.interactions import Outcome, Reply, Response, Source
from bot.domain.messages import InteractionId

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
MAX_PATH_LENGTH = 1000
_LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""Printable ASCII without a backslash: browsers take ``/\\`` for ``//``, and drop tabs."""
_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Return scheme, host and port as browsers write them in Origin.

    Raises ValueError without a host, or with an invalid port.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(f"{url!r} names no host.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if parts.port in {None, _PORTS.get(parts.scheme)}:
        return f"{parts.scheme}://{host}"
    return f"{parts.scheme}://{host}:{parts.port}"


def safe_redirect_path(wanted: str | None) -> str:
    """Return a path of this server to redirect to; ``/`` if it could lead elsewhere.

    The sign-in pages are not allowed either.
    """
    if wanted is None or len(wanted) > MAX_PATH_LENGTH or not _LOCAL_PATH.fullmatch(wanted):
        return "/"
    path = wanted.partition("?")[0].partition("#")[0]
    return "/" if path == "/session" or path.startswith("/session/") else wanted


def path_of(url: str) -> str:
    """Return path and query of a URL; ``/`` if it is invalid."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "/"
    return parts._replace(scheme="", netloc="", fragment="").geturl() or "/"


def is_loopback_host(host: str, port: int) -> bool:
    """Return whether a Host header names this machine at a port, by default 80."""
    try:
        parts = urlsplit(f"//{host}")
        named = parts.port or 80
    except ValueError:
        return False
    plain = parts.username is None and not parts.path
    return plain and parts.hostname in LOOPBACK_NAMES and named == port


def is_local_host(url: str) -> bool:
    """Return whether a URL points to this machine."""
    try:
        return urlsplit(url).hostname in LOOPBACK_NAMES
    except ValueError:
        return False


def is_confidential(url: str) -> bool:
    """Return whether requests to a URL are confidential: by HTTPS, or on this machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES)


DATABASE_DRIVER = "postgresql+psycopg"
IDLE_IN_TRANSACTION_SECONDS = 10.0
"""A stalled process must not block the processes that take over its work."""

_PERCENT_ENCODE = "percent-encode what is not a letter or digit in user and password"
_DATABASE_SCHEMES = frozenset({"postgres", "postgresql", DATABASE_DRIVER})


def with_driver(url: str) -> str:
    """Return a database URL with the driver that SQLAlchemy needs.

    Raises ValueError with the cure, which contains no part of the URL, as it holds a password.
    """
    scheme, separator, rest = url.strip().partition("://")
    if scheme.startswith("sqlite"):
        raise ValueError(
            "SQLite needs no address. Leave it unset; FRONTDESK_DATA_DIR says where the file goes"
        )
    if not separator or scheme not in _DATABASE_SCHEMES:
        raise ValueError("only PostgreSQL is supported: postgresql://USER:PASSWORD@HOST/NAME")
    _check_database_parts(_split_database_url(f"{DATABASE_DRIVER}://{rest}"))
    return f"{DATABASE_DRIVER}://{rest}"


def _split_database_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        whole = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError(_PERCENT_ENCODE) from None
    if not whole or parts.netloc.count("@") > 1 or "@" in parts.path + parts.query + parts.fragment:
        raise ValueError(_PERCENT_ENCODE)
    return parts


def _check_database_parts(parts: SplitResult) -> None:
    if not parts.hostname and "host=" not in parts.query:
        raise ValueError("the host is missing: postgresql://USER:PASSWORD@HOST/NAME")
    if not parts.path.strip("/"):
        raise ValueError("the database's name is missing: postgresql://USER:PASSWORD@HOST/NAME")


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
