"""A real server on the sample company, in its own process, shared by the tests of a run."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.fork_server import ROOT, Programme, launch

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from bot.store.database import Store

ALMOST_ANYTHING = "0.05"
"""A threshold so low that what is answered does not hang on the trained figures; what the gate
rules out altogether is still handed over."""
CACHE = ROOT / ".build" / "cache"
"""Shared by all servers of the tests: each would write the embedder again, 90 MB."""
SERVING = re.compile(r"Serving (http://\S+) \(ready in ([\d.]+) s\)")


@dataclass(frozen=True)
class Served:
    """A running server: where it is, what it said at the start, where it writes."""

    url: str
    said: str
    ready_seconds: float
    data_dir: Path


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    """Return an environment in which nothing of the developer's is configured."""
    kept = {"PATH", "HOME", "LANG", "TMPDIR", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}
    clean = {name: value for name, value in os.environ.items() if name in kept}
    folders = {"FRONTDESK_DATA_DIR": str(data_dir), "FRONTDESK_CACHE_DIR": str(CACHE)}
    return {**clean, **folders, "PORT": "0", **more}


def serving(
    data_dir: Path,
    arguments: Sequence[str] = ("--sample",),
    *,
    first: str = "",
    plain: bool = False,
    **more: str,
) -> Iterator[Served]:
    """Run ``python -m bot serve --sample`` until the caller is done with it."""
    programme = Programme(("bot", "serve", *arguments), environment(data_dir, **more), first=first)
    reading, writing = os.pipe()
    with Path(os.devnull).open("wb") as nowhere, os.fdopen(writing, "wb") as told:
        process = launch(programme, told.fileno(), nowhere.fileno(), plain=plain)
    said = ""
    with os.fdopen(reading, encoding="utf-8") as lines:
        try:
            for line in lines:
                said += line
                if found := SERVING.search(line):
                    yield Served(found.group(1), said, float(found.group(2)), data_dir)
                    break
            else:
                pytest.fail(f"the server did not start:\n{said}")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that one worker of a run fills; the others wait until it has."""
    place = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    folder, made = place / name, place / f"{name}.made"
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder


def start_for_the_first_time(data_dir: Path) -> None:
    for first in serving(data_dir):
        assert re.search(r"Space SAMPLE-IT: .*[1-9]\d* added", first.said), first.said


@pytest.fixture(scope="session")
def indexed_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as the first start on the sample leaves it; to be copied."""
    return made_once(tmp_path_factory, "sample", start_for_the_first_time)


@pytest.fixture(scope="session")
def sample_data(indexed_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(indexed_sample, tmp_path_factory.mktemp("data") / "sample")


@pytest.fixture(scope="session")
def served(sample_data: Path) -> Iterator[Served]:
    yield from serving(sample_data, CONFIDENCE_THRESHOLD=ALMOST_ANYTHING)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """A real Chromium, one for all tests of a worker; they share the session's event loop."""
    from tests.e2e.chromium import launched  # noqa: PLC0415 - servers' tests import this file too

    async with launched() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A record of a test's own, on the loop of its browser."""
    from bot.store.database import open_store, sqlite_url  # noqa: PLC0415 - as above

    opened = await open_store(sqlite_url(tmp_path))
    yield opened
    await opened.close()
