"""What tests of every package may ask for."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import structlog
from aiohttp import web_app
from hypothesis import is_hypothesis_test, settings
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling, Scheduling

from tests.fakes.set_up_once import set_up_once
from tests.fakes.spans import Spans
from tests.structure.suite_profile import SuiteProfile
from tests.sweeps.sizes import WHOLE_SECONDS

# No deadline: a busy machine is no counterexample. Tests draw the same examples each time, so that
# a change is not stopped by what it has not touched; sweeps look for new ones.
settings.register_profile("test", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("sweeps", deadline=None, max_examples=300)

OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""At the default of 700, it is a twelfth of the time of tests that make whole applications."""

ENOUGH_MEGABYTES = 600
MORE_MEGABYTES = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--sweeps`` and ``--attack``, which choose tests marked ``sweep`` and ``attack`` alone.

    Without the first, sweeps are left out; the second runs those of attacks, too. ``--profile``
    says at the end where the time went.
    """
    parser.addoption("--sweeps", action="store_true", help="run the long sweeps, and only them")
    parser.addoption("--attack", action="store_true", help="run the attacks whole, and only them")
    parser.addoption("--profile", action="store_true", help="say where the time went")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the Hypothesis profile, many examples in sweeps, fewer in tests; profile the run."""
    whole = config.getoption("--sweeps") or config.getoption("--attack")
    settings.load_profile("sweeps" if whole else "test")
    if config.getoption("--profile") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SuiteProfile())


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Keep the garbage collector out of what is collected, which all stays until the end.

    It is 700,000 objects: to go through them takes a third of the collection's time, and half a
    second whenever a test has garbage collected.
    """
    gc.disable()
    try:
        import_share(session.config)
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


def import_share(config: pytest.Config) -> None:
    """Import this worker's share of the test files, before it collects them all.

    The assertions of a file are rewritten when it is first imported, and the byte code is kept.
    In a fresh checkout that is half of the collection's time, and each worker would do it for
    every file.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or set(config.args) & set(config.getini("testpaths")) == set():
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for file in sorted((config.rootpath / "tests").rglob("test_*.py"))[number::count]:
        # Collecting the file says what is wrong with it, or why it is skipped.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(
                ".".join(file.relative_to(config.rootpath).with_suffix("").parts)
            )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the sweeps, the attacks or the tests, and begin with what takes long.

    With ``--sweeps``, properties run again with more examples.
    """
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (kept if _is_chosen(item, config) else left_out).append(item)
    items[:] = sorted(kept, key=_is_short)
    if config.getoption("--sweeps") or config.getoption("--attack"):
        _let_take_their_time(items)
    config.hook.pytest_deselected(items=left_out)


def _let_take_their_time(items: Iterable[pytest.Item]) -> None:
    """Let everything of a whole run, which fills the machine for an hour, take what sweeps may."""
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(WHOLE_SECONDS))


def _is_chosen(item: pytest.Item, config: pytest.Config) -> bool:
    if config.getoption("--attack"):
        return _is_attack(item)
    return _is_sweep(item) if config.getoption("--sweeps") else not _is_marked_sweep(item)


def _is_attack(item: pytest.Item) -> bool:
    """Return whether a test tries an attack: it is marked, or keeps a finding of one mended."""
    findings = (str(mark.kwargs["id"]) for mark in item.iter_markers("mended"))
    marked = item.get_closest_marker("attack") is not None
    return marked or any(each.startswith("attack-") for each in findings)


def _is_marked_sweep(item: pytest.Item) -> bool:
    return item.get_closest_marker("sweep") is not None


def _is_sweep(item: pytest.Item) -> bool:
    """Return whether a test belongs to the sweeps: it is marked, or a Hypothesis property."""
    return _is_marked_sweep(item) or is_hypothesis_test(getattr(item, "obj", None))


def _is_short(item: pytest.Item) -> bool:
    """Return whether a test may begin late, when the other worker may have nothing left to do."""
    return not any(item.get_closest_marker(name) for name in ("xdist_group", "slow"))


class GroupsAndFiles(LoadGroupScheduling):  # type: ignore[misc]  # published without types
    """Hands out a group at a time, or the tests of a file that are in no group, in their order.

    One test at a time would have both workers set up what a file shares, and the controller look
    through thousands of finished units after every test. Sorted by the number of their tests, as
    they would be by default, the longest groups would begin last.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        group = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if group == nodeid else group


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    return GroupsAndFiles(config, log) if config.getoption("dist") == "loadgroup" else None


class Memory:
    """Keeps a worker small: some 11,000 tests make hundreds of whole applications in it.

    aiohttp's cache of handlers would hold 1,024 applications, each with an embedder's network of
    100 MB; workers grew to 6 GB by that. What is free besides stays with the C library until it is
    asked for. That is slow, so it is done when much was added since the last time, not when much
    is held.
    """

    def __init__(self) -> None:
        self._settled = ENOUGH_MEGABYTES

    def settle(self) -> None:
        web_app._cached_build_middleware.cache_clear()  # noqa: SLF001 - there is no public way
        if resident_megabytes() > self._settled + MORE_MEGABYTES:
            gc.collect()
            trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
            if trim is not None:
                trim(0)
            self._settled = max(ENOUGH_MEGABYTES, resident_megabytes())


@pytest.fixture(scope="session", autouse=True)
def _plain_tracebacks() -> None:
    """Have defects logged without what every local variable held, which takes a second each."""
    renderer = structlog.get_config()["processors"][-1]
    if isinstance(renderer, structlog.dev.ConsoleRenderer):
        renderer.exception_formatter = structlog.dev.plain_traceback


@pytest.fixture(scope="session", autouse=True)
def _set_up_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        set_up_once(patch, tmp_path_factory.mktemp("once"))
        yield


@pytest.fixture(scope="session")
def memory() -> Memory:
    return Memory()


@pytest.fixture(autouse=True)
def memory_is_given_back(memory: Memory) -> Iterator[None]:
    yield
    memory.settle()


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
