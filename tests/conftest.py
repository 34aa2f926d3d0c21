"""What tests of every package may ask for."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp import web_app
from hypothesis import is_hypothesis_test, settings

from tests.fakes.spans import Spans

# No deadline: a busy machine is no counterexample.
settings.register_profile("test", deadline=None, max_examples=25)
settings.register_profile("sweeps", deadline=None, max_examples=300)

ENOUGH_MEGABYTES = 700


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--sweeps``: run the tests marked ``sweep`` alone; without it they are left out."""
    parser.addoption("--sweeps", action="store_true", help="run the long sweeps, and only them")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the Hypothesis profile: many examples in sweeps, fewer in tests."""
    settings.load_profile("sweeps" if config.getoption("--sweeps") else "test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the sweeps or the tests. With ``--sweeps``, properties run again with more examples."""
    sweeping = config.getoption("--sweeps")
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        chosen = _is_sweep(item) if sweeping else item.get_closest_marker("sweep") is None
        (kept if chosen else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def _is_sweep(item: pytest.Item) -> bool:
    """Return whether a test belongs to the sweeps: it is marked, or a Hypothesis property."""
    return item.get_closest_marker("sweep") is not None or is_hypothesis_test(
        getattr(item, "obj", None)
    )


@pytest.fixture(autouse=True)
def memory_is_given_back() -> Iterator[None]:
    """Keep a worker small: some 11,000 tests make hundreds of whole applications in it.

    aiohttp's cache of handlers would hold 1,024 applications, each with an embedder's network of
    100 MB; workers grew to 6 GB by that. What is free besides stays with the C library until it is
    asked for.
    """
    yield
    web_app._cached_build_middleware.cache_clear()  # noqa: SLF001 - there is no public way
    if resident_megabytes() > ENOUGH_MEGABYTES:
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def resident_megabytes() -> int:
    """Return what this process holds; 0 where there is no /proc."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGESIZE") // 2**20
    return 0


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """Collect the spans of this test; without it tracing is off, as it is by default."""
    collected = Spans()
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", collected.provider)
    yield collected
    collected.provider.shutdown()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: a made file holds the time, and workers must agree on names."""
    return argname if isinstance(val, bytes) else None
