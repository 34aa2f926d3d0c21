"""Tests over real sockets that incomplete requests end soon and keep nobody else out."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import structlog
from aiohttp import web

from bot.web.connections import Connections, RequestTimeouts
from bot.web.problems import problem_middleware

pytestmark = pytest.mark.attack

HALF_A_HEAD = b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Le"
HALF_A_BODY = b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nfirst"
WHOLE = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
PATIENCE = RequestTimeouts()
SECONDS = 60.0
"""Beyond this something hangs."""

Peer = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Clock:
    """Goes on when a test says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Running:
    """A server with its connections, and what it has read of bodies."""

    port: int
    connections: Connections
    clock: Clock
    pieces: asyncio.Queue[int] = field(default_factory=asyncio.Queue)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    peers: list[Peer] = field(default_factory=list)

    async def sends(self, data: bytes) -> Peer:
        peer = await asyncio.open_connection("127.0.0.1", self.port)
        self.peers.append(peer)
        peer[1].write(data)
        await peer[1].drain()
        return peer

    def after(self, seconds: float) -> None:
        self.clock.now += seconds
        self.connections.close_late()

    async def takes(self, size: int) -> None:
        """Wait until the handler has so many more bytes of a body."""
        async with asyncio.timeout(SECONDS):
            while size > 0:
                size -= await self.pieces.get()


@asynccontextmanager
async def running(most: int = 100, clock: Clock | None = None) -> AsyncIterator[Running]:
    clock = clock or Clock()
    connections = Connections(most, PATIENCE, clock)
    it = Running(0, connections, clock)

    async def health(_: web.Request) -> web.Response:
        return web.Response(text="well")

    async def slow(request: web.Request) -> web.Response:
        it.begun.set()
        async for piece in request.content.iter_any():
            it.pieces.put_nowait(len(piece))
        return web.Response()

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one")
        it.begun.set()
        await asyncio.sleep(SECONDS)
        return response

    app = web.Application(middlewares=[connections.watch, problem_middleware])
    app.router.add_get("/health", health)
    app.router.add_post("/slow", slow)
    app.router.add_get("/stream", stream)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    assert runner.server is not None
    try:
        async with connections.listening(runner.server, "127.0.0.1", 0) as listener:
            it.port = listener.sockets[0].getsockname()[1]
            yield it
    finally:
        for _, writer in it.peers:
            writer.close()
        await runner.cleanup()


async def ends(peer: Peer) -> bool:
    """Tell whether the server closes a connection, without a word."""
    async with asyncio.timeout(SECONDS):
        try:
            return await peer[0].read() == b""
        except ConnectionResetError:
            return True


async def answers(peer: Peer, data: bytes = WHOLE) -> bytes:
    """Send something over a connection; return how the answer begins."""
    peer[1].write(data)
    async with asyncio.timeout(SECONDS):
        return (await peer[0].read(1000)).split(b"\r\n")[0]


@pytest.mark.mended(id="attack-5")
@pytest.mark.parametrize("sent", [b"", b"G", HALF_A_HEAD, WHOLE + HALF_A_HEAD])
async def test_half_a_head_is_closed_after_its_time(sent: bytes) -> None:
    async with running() as server:
        peer = await server.sends(b"")
        if sent.startswith(WHOLE):
            assert b"200" in await answers(peer)
            sent = sent.removeprefix(WHOLE)
        peer[1].write(sent)
        # Its bytes are here before those of a connection that is made later.
        assert b"200" in await answers(await server.sends(b""))

        server.after(PATIENCE.head_seconds)

        assert await ends(peer)


@pytest.mark.mended(id="attack-5")
async def test_half_a_body_is_closed_after_its_time_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with running() as server:
        peer = await server.sends(HALF_A_BODY)
        await server.takes(len(b"first"))

        server.after(PATIENCE.body_seconds)

        assert await ends(peer)
    assert "Traceback" not in "".join(capsys.readouterr())


async def test_a_long_upload_over_a_slow_line_arrives() -> None:
    async with running() as server:
        reader, writer = await server.sends(HALF_A_BODY)
        await server.takes(len(b"first"))
        for size in [100_000] * 9 + [99_995]:
            server.after(20)
            writer.write(b"x" * size)
            await server.takes(size)
        assert b"200" in await reader.read(100)


async def test_a_body_in_drops_is_closed_in_the_end() -> None:
    async with running() as server:
        peer = await server.sends(HALF_A_BODY)
        await server.takes(len(b"first"))
        for _ in range(3):
            peer[1].write(b"x")
            await server.takes(1)
            server.after(PATIENCE.body_seconds / 3 + 1)
        assert await ends(peer)


async def test_streams_and_connections_between_two_requests_are_left_alone() -> None:
    async with running() as server:
        stream = await server.sends(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        between = await server.sends(b"")
        assert b"200" in await answers(between)
        async with asyncio.timeout(SECONDS):
            await server.begun.wait()

        server.after(1000)

        assert b"200" in await answers(between)
        assert b"200" in await stream[0].read(100)


@pytest.mark.mended(id="attack-5")
@pytest.mark.parametrize("half", [b"", HALF_A_HEAD, HALF_A_BODY])
async def test_half_requests_give_way_to_others_when_there_are_too_many(half: bytes) -> None:
    async with running(most=8) as server:
        stream = await server.sends(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        async with asyncio.timeout(SECONDS):
            await server.begun.wait()
        halves = [await server.sends(half) for _ in range(30)]

        well = await server.sends(b"")
        assert b"200" in await answers(well)

        assert await ends(halves[0])
        assert b"200" in await stream[0].read(100)


@pytest.mark.mended(id="attack-5")
async def test_that_no_more_can_be_taken_in_is_logged_once() -> None:
    async with running():
        with structlog.testing.capture_logs() as logs:
            for _ in range(100):
                asyncio.get_running_loop().call_exception_handler(
                    {
                        "message": "socket.accept() out of system resource",
                        "exception": OSError(errno.EMFILE, "Too many open files"),
                        "socket": "listening",
                    }
                )

    assert [line["event"] for line in logs] == ["connections.none_taken"]
