"""Addresses, and where it is safe to lead a browser; pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
LONGEST_PATH = 1000
_LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""Printable ASCII without a backslash: browsers take ``/\\`` for ``//``, and drop tabs."""
_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Return scheme, host and port as browsers write them in Origin.

    Raises ValueError for what has no host, or a port that is none.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(f"{url!r} names no host.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if parts.port in {None, _PORTS.get(parts.scheme)}:
        return f"{parts.scheme}://{host}"
    return f"{parts.scheme}://{host}:{parts.port}"


def local_path(wanted: str | None) -> str:
    """Return a path of this server to go on to; ``/`` for whatever could lead elsewhere.

    The pages of signing in are no place to go on to either.
    """
    if wanted is None or len(wanted) > LONGEST_PATH or not _LOCAL_PATH.fullmatch(wanted):
        return "/"
    path = wanted.partition("?")[0].partition("#")[0]
    return "/" if path == "/session" or path.startswith("/session/") else wanted


def path_of(url: str) -> str:
    """Return path and query of an address; ``/`` for what is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "/"
    return parts._replace(scheme="", netloc="", fragment="").geturl() or "/"


def local_host(url: str) -> bool:
    """Tell whether an address is this very machine's."""
    try:
        return urlsplit(url).hostname in LOOPBACK_NAMES
    except ValueError:
        return False


def confidential(url: str) -> bool:
    """Tell whether nobody on the way can read along: HTTPS, or this very machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES)
