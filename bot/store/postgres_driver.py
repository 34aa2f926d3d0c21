"""Connections to PostgreSQL: their time limits, and which of the pool can still be used."""

from __future__ import annotations

import math
import selectors
import time
from collections.abc import Mapping
from functools import partial

from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.engine.interfaces import DBAPIConnection, Dialect
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry

from bot.domain.urls import IDLE_IN_TRANSACTION_SECONDS

PING_AFTER_SECONDS = 5.0
"""A pooled connection that was unused for so long is tried before it is used."""
_USED_AT = "used_at"

SERVER_LIMITS: Mapping[str, object] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "frontdesk",
}
"""PostgreSQL (libpq) options in seconds, tcp_user_timeout in milliseconds.

A server that vanishes silently is given up after about half a minute, not after the system's
default of a quarter of an hour.
"""


def connect_arguments(url: str) -> dict[str, object]:
    """Return the driver arguments with timeouts for PostgreSQL; none for SQLite."""
    return dict(SERVER_LIMITS) if url.startswith("postgresql") else {}


def set_up_pool(engine: Engine) -> None:
    """Limit the connections of an engine in time, and check them before they are used."""
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "checkout", partial(_check_before_use, engine.dialect))
    event.listen(engine, "checkin", _note_use)


def _set_up(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Set PostgreSQL's timeout for idle transactions, for processes that hang.

    Not as a start-up option, which connection poolers reject.
    """
    cursor = connection.cursor()
    milliseconds = round(IDLE_IN_TRANSACTION_SECONDS * 1000)
    cursor.execute(f"SET SESSION idle_in_transaction_session_timeout = {milliseconds}")
    cursor.close()
    connection.commit()


def _check_before_use(
    dialect: Dialect, connection: DBAPIConnection, entry: ConnectionPoolEntry, _: object
) -> None:
    """Raise InvalidatePoolError for a pooled connection that PostgreSQL has ended meanwhile.

    SQLAlchemy's own ``pool_pre_ping`` asks the server each time, which doubles what a short read
    costs. Here it is asked only if it has sent something of its own accord, as it does when it
    ends a connection, or after a while without use, when a firewall may have forgotten it.
    """
    unused = time.monotonic() - entry.info.get(_USED_AT, math.inf)
    try:
        if unused >= PING_AFTER_SECONDS or _has_unread(connection):
            dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise InvalidatePoolError from error


def _note_use(_: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    entry.info[_USED_AT] = time.monotonic()


def _has_unread(connection: DBAPIConnection) -> bool:
    """Return whether the server has sent something, or closed the connection."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.driver_connection.fileno(), selectors.EVENT_READ)
        return bool(selector.select(0))
