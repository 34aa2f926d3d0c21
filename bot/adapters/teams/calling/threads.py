"""Threads of our own for calls that block: so many at most, and none that a stop waits for."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Call = tuple[Future[Any], Callable[[], Any]] | None


class Threads(Executor):
    """Implements Executor, apart from the loop's own, which others need and the engine replaces.

    What hangs here holds up nothing else. At the end of the process it is left as it is, and may
    be done: as when the process is killed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun = 0
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        weakref.finalize(self, self._calls.put, None)

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Run a call as soon as a thread is free; called by one thread only."""
        future: Future[_T] = Future()
        self._calls.put((future, partial(fn, *args, **kwargs)))
        if not self._idle.acquire(blocking=False) and self._begun < self._most:
            self._begun += 1
            name, work = f"teams-{self._begun}", (self._calls, self._idle)
            threading.Thread(target=_work, args=work, name=name, daemon=True).start()
        return future


class ThreadsAsLoop:
    """What msrest asks of the event loop: to run a call that blocks."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def run_in_executor(self, _: object, call: Callable[[], _T]) -> asyncio.Future[_T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, call)


def _work(calls: SimpleQueue[_Call], idle: threading.Semaphore) -> None:
    """Run calls, until whoever makes them is gone."""
    while (call := _next(calls, idle)) is not None:
        future, act = call
        if future.set_running_or_notify_cancel():
            _run(future, act)
        del call, future, act
    calls.put(None)


def _next(calls: SimpleQueue[_Call], idle: threading.Semaphore) -> _Call:
    try:
        return calls.get_nowait()
    except Empty:
        idle.release()
        return calls.get()


def _run(future: Future[Any], act: Callable[[], Any]) -> None:
    try:
        result = act()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told who waits
        future.set_exception(error)
    else:
        future.set_result(result)
