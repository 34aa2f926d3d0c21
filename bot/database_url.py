"""The address of a database server: what is accepted, and the driver that is meant."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

DRIVER = "postgresql+psycopg"
IDLE_IN_TRANSACTION_SECONDS = 10.0
"""A process that stands still must not keep its locks from those that take over its work."""

_ENCODE = "percent-encode what is not a letter or digit in user and password"
_SCHEMES = frozenset({"postgres", "postgresql", DRIVER})


def with_driver(url: str) -> str:
    """Return the address with its driver named, as SQLAlchemy wants it.

    Raises ValueError with the cure; no part of the address is in it, for it holds a password.
    """
    scheme, separator, rest = url.strip().partition("://")
    if scheme.startswith("sqlite"):
        raise ValueError(
            "SQLite needs no address. Leave it unset; FRONTDESK_DATA_DIR says where the file goes"
        )
    if not separator or scheme not in _SCHEMES:
        raise ValueError("only PostgreSQL is supported: postgresql://USER:PASSWORD@HOST/NAME")
    _check(_split(f"{DRIVER}://{rest}"))
    return f"{DRIVER}://{rest}"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        whole = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError(_ENCODE) from None
    if not whole or parts.netloc.count("@") > 1 or "@" in parts.path + parts.query + parts.fragment:
        raise ValueError(_ENCODE)
    return parts


def _check(parts: SplitResult) -> None:
    if not parts.hostname and "host=" not in parts.query:
        raise ValueError("the host is missing: postgresql://USER:PASSWORD@HOST/NAME")
    if not parts.path.strip("/"):
        raise ValueError("the database's name is missing: postgresql://USER:PASSWORD@HOST/NAME")
