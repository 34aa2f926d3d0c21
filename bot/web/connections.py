"""Limit the number of open connections and the time that a request may take to arrive."""

from __future__ import annotations

import asyncio
import errno
import resource
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog
from aiohttp import StreamReader, web
from aiohttp.typedefs import Handler

log = structlog.get_logger(__name__)

IDLE_SECONDS = 75.0
"""Keep-alive timeout in seconds: longer than proxies keep theirs (60 s)."""

_MAX_FILES = 65_536
_MAX_CONNECTIONS = 2_000
_MIN_CONNECTIONS = 16
_FILES_PER_CONNECTION = 4
"""Open files per connection: the others are the database's, the index's and outgoing calls'."""
_ACCEPT_BATCH = 16
"""The number of connections that asyncio accepts at once (its listen backlog).

Up to four times as many are open for a moment before the first is closed.
"""
_BACKLOG = 128
"""The listen backlog of the kernel."""
_LOG_SECONDS = 60.0
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@dataclass(frozen=True, slots=True)
class RequestTimeouts:
    """Timeouts of receiving a request.

    Args:
        head_seconds: For its request line and headers.
        body_seconds: For its body; extended as long as data arrives at the least rate.
        least_rate: Bytes per second. Slower data extends the deadline in part: a body at half of
            this rate ends after twice ``body_seconds``, a stalled one after ``body_seconds``.
    """

    head_seconds: float = 10.0
    body_seconds: float = 30.0
    least_rate: int = 4096


def raise_open_file_limit() -> int:
    """Raise the process's soft limit of open files as far as allowed; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError) as error:
        log.warning("connections.few_files", limit=soft, why=str(error), cure="ulimit -n 4096")
        return soft
    return wanted


def max_connections(files: int) -> int:
    """Return the number of connections for a limit of open files."""
    return max(_MIN_CONNECTIONS, min(_MAX_CONNECTIONS, files // _FILES_PER_CONNECTION))


class Connection(asyncio.Protocol):
    """One connection: forwards to aiohttp's protocol, and tracks its receive deadline."""

    __slots__ = ("_among", "_body", "_inner", "_is_busy", "_next_began", "_transport", "due")

    def __init__(self, inner: asyncio.Protocol, among: Connections) -> None:
        self._inner = inner
        self._among = among
        self._transport: asyncio.Transport | None = None
        self._body: StreamReader | None = None
        self._is_busy = False
        self._next_began = False
        self.due: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what TCP gives
        self._transport = transport
        self._inner.connection_made(transport)
        self.due = self._among.head_due()
        self._among.add(self)

    def data_received(self, data: bytes) -> None:
        self._count(len(data))
        self._inner.data_received(data)
        self._see_end_of_body()

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._among.remove(self)
        self._inner.connection_lost(error)

    def begin(self, body: StreamReader) -> None:
        """Mark the start of handling a request, whose headers have arrived."""
        self._is_busy, self._next_began = True, False
        self._body, self.due = body, self._among.body_due()
        self._wait()
        self._see_end_of_body()

    def end(self) -> None:
        """Mark the end of handling a request; aiohttp drains the rest of its body."""
        self._is_busy = False
        self.due = self._among.head_due() if self._next_began else None
        self._wait()

    def is_late(self, now: float) -> bool:
        """Return whether the deadline is over; never while this side has paused reading."""
        self._see_end_of_body()
        if self._is_busy and self._body is not None and not self._is_reading():
            self.due = self._among.body_due()
        return self.due is not None and self.due <= now

    def abort(self) -> None:
        """Close the connection immediately."""
        self.due = None
        if self._transport is not None:
            self._transport.abort()

    def _count(self, received: int) -> None:
        if self._body is not None:
            if self.due is not None:
                self.due = self._among.body_due(self.due, received)
            self._wait()
        elif self._is_busy:
            self._next_began = True
        elif self.due is None:
            self.due = self._among.head_due()

    def _see_end_of_body(self) -> None:
        if self._body is not None and self._body.is_eof():
            self._body = None
            if self._is_busy and self._transport is not None:
                self.due = None
                self._among.work(self)

    def _wait(self) -> None:
        # A response may finish after its connection was lost.
        if self._transport is not None:
            self._among.wait(self)

    def _is_reading(self) -> bool:
        return self._transport is not None and self._transport.is_reading()


class Connections:
    """All connections of a server.

    No client can block others with half-sent requests: a connection past its deadline is closed,
    and beyond the maximum the one that has waited longest without a complete request. Streams and
    long answers have complete requests, so they are never closed for either reason. There is no
    limit per address: behind a proxy all clients share one.
    """

    def __init__(
        self,
        most: int,
        patience: RequestTimeouts | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._patience = patience or RequestTimeouts()
        self._clock = clock
        self._working: set[Connection] = set()
        # In the order in which they began to wait: the first one is closed first.
        self._waiting: OrderedDict[Connection, None] = OrderedDict()
        self._closed = {"late": 0, "for_others": 0}
        self._logged = float("-inf")
        self._failed = float("-inf")

    @web.middleware
    async def watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Track the start and end of each request; install it before other middlewares."""
        protocol = request.transport.get_protocol() if request.transport is not None else None
        if not isinstance(protocol, Connection):
            return await handler(request)
        protocol.begin(request.content)
        try:
            return await handler(request)
        finally:
            protocol.end()

    @asynccontextmanager
    async def listening(
        self, server: web.Server, host: str, port: int
    ) -> AsyncIterator[asyncio.Server]:
        """Accept connections for ``server`` until the block ends. Raises OSError."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._fail)
        listener = await loop.create_server(
            lambda: Connection(server(), self), host, port, backlog=_ACCEPT_BATCH
        )
        # asyncio accepts as many connections per wake-up as its backlog; the kernel's queue may be
        # longer.
        for each in listener.sockets:
            with each.dup() as same:
                same.listen(_BACKLOG)
        closing = asyncio.create_task(self._close_late_ones())
        try:
            yield listener
        finally:
            closing.cancel()
            listener.close()
            loop.set_exception_handler(None)

    def add(self, connection: Connection) -> None:
        """Add a connection; beyond the maximum, close the one that has waited longest."""
        self._waiting[connection] = None
        if len(self._waiting) + len(self._working) > self._most:
            longest, _ = self._waiting.popitem(last=False)
            self._close(longest, "for_others")

    def remove(self, connection: Connection) -> None:
        self._working.discard(connection)
        self._waiting.pop(connection, None)

    def wait(self, connection: Connection) -> None:
        """Mark a connection as waiting for its client from now on."""
        self.remove(connection)
        self._waiting[connection] = None

    def work(self, connection: Connection) -> None:
        """Mark a connection as having its complete request."""
        self.remove(connection)
        self._working.add(connection)

    def head_due(self) -> float:
        return self._clock() + self._patience.head_seconds

    def body_due(self, due: float = float("inf"), received: int = 0) -> float:
        """Return the time by which more of a body must have arrived."""
        longest = self._clock() + self._patience.body_seconds
        return min(longest, due + received / self._patience.least_rate)

    def close_late(self) -> None:
        """Close the connections that are past their deadline."""
        now = self._clock()
        for connection in [each for each in self._waiting if each.is_late(now)]:
            self.remove(connection)
            self._close(connection, "late")

    async def _close_late_ones(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._patience.head_seconds))
            self.close_late()

    def _close(self, connection: Connection, why: str) -> None:
        connection.abort()
        self._closed[why] += 1
        if self._clock() - self._logged >= _LOG_SECONDS:
            self._logged = self._clock()
            log.warning("connections.closed", most=self._most, **self._closed)

    def _fail(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
        """Log once a minute that accepting fails; asyncio logs every failure, with a traceback."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in _EXHAUSTED and "socket" in context):
            loop.default_exception_handler(dict(context))
        elif self._clock() - self._failed >= _LOG_SECONDS:
            self._failed = self._clock()
            log.error("connections.none_taken", why=str(error), cure="ulimit -n 4096")
