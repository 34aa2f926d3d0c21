"""Check and normalise URLs: origins, safe redirect paths, HTTPS, and database URLs.

Pure: nothing is connected to. Error messages about a database URL never contain it, because it
holds a password.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

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
