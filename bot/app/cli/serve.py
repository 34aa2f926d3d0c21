"""Serve: print the status of all components, index the sample when asked, listen until stopped."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web

from bot import __version__
from bot.app.build import STATUS, build
from bot.app.components import open_components
from bot.app.confluence import open_confluence
from bot.app.documents import load_ingestion_settings, reindex_sample
from bot.app.worker import open_engine
from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from bot.domain.settings_loading import setting_origins
from bot.observability.tracing import set_up_tracing
from bot.store.database import database_url, lock_data_dir, reminders_of, unopened
from bot.web.auth.demo import DEMO, personas
from bot.web.connections import IDLE_SECONDS, Connections, max_connections, raise_open_file_limit
from rag.garbage_collection import freeze_startup_objects

_CLOSE_SECONDS = 3.0
"""aiohttp's shutdown timeout after the inbox has finished; it applies twice. With the inbox's own
time the shutdown ends in 25 s."""
_OTHER_HOST_CURE = "Set HOST to an address of this machine: 127.0.0.1, or 0.0.0.0 for all."
_BIND_CURES = {
    errno.EADDRINUSE: "Stop the other server, or choose another: PORT=4000 make run",
    errno.EACCES: "Ports below 1024 need more rights; choose another: PORT=4000 make run",
}


async def serve(settings: Settings, *, sample: bool, started: float) -> int:
    """Serve until SIGINT or SIGTERM, then finish work in progress.

    ``started`` is the start time of the process (time.perf_counter), before its imports.
    """
    check_role(settings)
    role = "" if settings.role == "all" else f", role {settings.role}"
    print(f"Frontdesk {__version__}{role}", flush=True)
    ingestion = load_ingestion_settings()
    sources = setting_origins(settings, ingestion)
    async with AsyncExitStack() as until:
        # First, so that it ends last, and also when opening something else fails.
        until.callback(set_up_tracing())
        await until.enter_async_context(_exclusive_data_dir(settings))
        confluence = await until.enter_async_context(open_confluence(ingestion))
        store = await until.enter_async_context(
            unopened(database_url(settings), reminders_of(settings))
        )
        components = await until.enter_async_context(
            open_components(
                settings,
                fills=sample,
                recheck=confluence.recheck,
                superseded=ingestion.confluence_superseded_labels,
                saved=store.saved_answers,
            )
        )
        if sample:
            for line in await reindex_sample(settings, components):
                print(f"  {line}", flush=True)
        app = build(
            settings,
            components,
            store,
            open_engine(settings),
            sample=sample,
            sources=sources,
            ingestion=ingestion,
            directory=confluence.directory,
        )
        await _listen(app, settings, started)
    return 0


def check_role(settings: Settings) -> None:
    """Raise SettingInvalid for a role that the record cannot be shared for."""
    if settings.role != "all" and settings.database_url is None:
        raise SettingInvalid(
            f"FRONTDESK_ROLE={settings.role} needs a record that several servers share, and SQLite "
            "is for one. Set DATABASE_URL to a PostgreSQL database, the same for all of them, or "
            "leave FRONTDESK_ROLE out."
        )


@asynccontextmanager
async def _exclusive_data_dir(settings: Settings) -> AsyncIterator[None]:
    """Lock the data directory against other servers; a shared database needs no lock."""
    if settings.database_url is None:
        with lock_data_dir(settings.data_dir):
            yield
    else:
        yield


async def _listen(app: web.Application, settings: Settings, started: float) -> None:
    stopped = _stop_event()
    connections = Connections(max_connections(raise_open_file_limit()))
    app.middlewares.insert(0, connections.watch)
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=_CLOSE_SECONDS, keepalive_timeout=IDLE_SECONDS
    )
    await runner.setup()
    try:
        for part in await app[STATUS]():
            print(part.line(), flush=True)
        async with AsyncExitStack() as until:
            port = await _bind(until, connections, runner, settings)
            took = time.perf_counter() - started
            address = f"http://{_host_in_url(settings.host)}:{port}"
            for line in address_lines(address, demo=DEMO in app):
                print(line, flush=True)
            print(f"Serving {address} (ready in {took:.1f} s)", flush=True)
            # Nothing was collected until now (bot.__main__), and from now on collections leave out
            # what the start made; messages that wait in a burst would be visited often otherwise.
            freeze_startup_objects()
            _give_back_freed_memory()
            await stopped.wait()
            print("Stopping: finishing what was asked.", flush=True)
    finally:
        await runner.cleanup()


def address_lines(address: str, *, demo: bool) -> Iterator[str]:
    """Yield the start-up lines with the board's address, and with ``demo`` the demo personas."""
    yield f"Board {address}/board"
    if demo:
        played = [each for each in personas() if each.signed_in is not None]
        named = "; ".join(f"{each.name} ({each.about})" for each in played)
        yield f"At the top right of each page you can be {named}"


async def _bind(
    until: AsyncExitStack, connections: Connections, runner: web.AppRunner, settings: Settings
) -> int:
    """Listen until the stack is closed; return the port."""
    assert runner.server is not None  # noqa: S101 - it is set up
    listening = connections.listening(runner.server, settings.host, settings.port)
    try:
        listener = await until.enter_async_context(listening)
    except OSError as error:
        raise SettingInvalid(
            f"PORT={settings.port} on HOST={settings.host!r} can't be used: {error.strerror}. "
            f"{_BIND_CURES.get(error.errno or 0, _OTHER_HOST_CURE)}"
        ) from error
    port: int = listener.sockets[0].getsockname()[1]
    return port


def _give_back_freed_memory() -> None:
    """Return to the system what the start allocated and freed, most of it by the embedder.

    The C library of most Linux systems (glibc) keeps it, and has a function for it.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _stop_event() -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set; installed before any work may begin."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stopped.set)
    return stopped


def _host_in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
