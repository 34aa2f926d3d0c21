"""Serves: says what is configured, indexes the sample when asked, then listens until stopped."""

from __future__ import annotations

import asyncio
import errno
import signal
import time

from aiohttp import web

from bot import __version__
from bot.app import build, reindex_sample, status
from bot.config import Settings
from bot.errors import SettingInvalid
from bot.parts import open_parts
from bot.store import open_store, sqlite_url

_CLOSE_SECONDS = 25.0
_OTHER_HOST = "Set HOST to an address of this machine: 127.0.0.1, or 0.0.0.0 for all."
_BIND_CURES = {
    errno.EADDRINUSE: "Stop the other server, or choose another: PORT=4000 make run",
    errno.EACCES: "Ports below 1024 need more rights; choose another: PORT=4000 make run",
}


async def serve(settings: Settings, *, sample: bool, started: float) -> int:
    """Serve until SIGINT or SIGTERM; work in hand is finished first.

    ``started`` is when the process began (time.perf_counter), imports included.
    """
    print(f"Frontdesk {__version__}", flush=True)
    async with open_parts(settings) as parts:
        if sample:
            for line in await reindex_sample(settings, parts):
                print(f"  {line}", flush=True)
        store = await open_store(sqlite_url(settings.data_dir))
        try:
            app = build(settings, parts, store)
            for part in await status(settings, parts):
                print(part.line(), flush=True)
            await _listen(app, settings, started)
        finally:
            await store.close()
    return 0


async def _listen(app: web.Application, settings: Settings, started: float) -> None:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_CLOSE_SECONDS)
    await runner.setup()
    try:
        await _bind(runner, settings)
        _, port = runner.addresses[0][:2]
        took = time.perf_counter() - started
        print(f"Serving http://{_shown(settings.host)}:{port} (ready in {took:.1f} s)", flush=True)
        await _until_stopped()
        print("Stopping: finishing what was asked.", flush=True)
    finally:
        await runner.cleanup()


async def _bind(runner: web.AppRunner, settings: Settings) -> None:
    try:
        await web.TCPSite(runner, settings.host, settings.port).start()
    except OSError as error:
        raise SettingInvalid(
            f"PORT={settings.port} on HOST={settings.host!r} can't be used: {error.strerror}. "
            f"{_BIND_CURES.get(error.errno or 0, _OTHER_HOST)}"
        ) from error


async def _until_stopped() -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stopped.set)
    await stopped.wait()


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
