"""The threads in which SQLite's files are read and written: they end before the event loop does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from threading import Thread
from typing import Any
from weakref import WeakSet

import aiosqlite
import structlog

_MOST_SECONDS = 5.0
"""A connection that is still in use, against the rules, is not waited for longer."""

log = structlog.get_logger(__name__)


class FileThreads:
    """Opens connections, each of which has a thread of its own, and waits for those threads.

    Whoever is cancelled half-way leaves a statement, or the opening of a file, to its thread. That
    tells the loop of its end, and breaks where the loop is closed by then.
    """

    def __init__(self) -> None:
        self._threads: WeakSet[Thread] = WeakSet()

    def opened(self, path: str, **options: Any) -> aiosqlite.Connection:  # noqa: ANN401 - SQLAlchemy names them
        """Return a connection that opens when it is awaited, as SQLAlchemy makes them."""
        connection = aiosqlite.connect(path, **options)
        thread = connection._thread  # noqa: SLF001 - SQLAlchemy does so: it has no other name
        thread.daemon = True
        self._threads.add(thread)
        return connection

    async def ended(self) -> None:
        """Wait until all threads have ended whose connections are closed."""
        begun = [thread for thread in self._threads if thread.ident is not None]
        left = await asyncio.to_thread(_left_of, begun, time.monotonic() + _MOST_SECONDS)
        if left:
            log.warning("store.threads_left", threads=left)


def _left_of(threads: Sequence[Thread], until: float) -> int:
    """Wait for threads, and return how many still run then."""
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return sum(thread.is_alive() for thread in threads)
