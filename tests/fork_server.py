"""Start `python -m MODULE` as a fork of a process that has imported what servers import.

The imports take most of the processor time of a start. A fork has a process id, signals, an exit
code, a folder, an environment and files of its own; only its name in the list of processes is the
fork server's, and it ends without the interpreter's last steps. Only Linux is sure to fork well
what has loaded native code: elsewhere the same calls start a plain process.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import reduction
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.resource_sharer import DupFd
from pathlib import Path
from signal import SIGKILL, SIGTERM
from tempfile import TemporaryFile
from typing import IO

import pytest

ROOT = Path(__file__).parents[1]
CAN_FORK = sys.platform == "linux"
PRELOADED = "tests.preload"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Programme:
    """What is run: ``arguments`` as after ``python -m``, in a folder, with an environment.

    ``first`` are commands of the shell that come before, such as a umask. ``leads`` tells whether
    it leads a session, whose processes can be killed together.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path = ROOT
    first: str = ""
    leads: bool = False


@dataclass(frozen=True)
class _Inherited:
    """An open file that a fork is given, where it is a number."""

    number: int

    def __reduce__(self) -> tuple[object, ...]:
        return _detach, (reduction.DupFd(self.number),)


def _detach(sent: DupFd) -> int:
    return sent.detach()


class Forked:
    """A running fork, with what is used of ``subprocess.Popen``."""

    def __init__(self, programme: Programme, stdout: int, stderr: int) -> None:
        files = _Inherited(stdout), _Inherited(stderr)
        # One that a test leaves behind is ended with the test's own process.
        self._process = forking().Process(target=_run, args=(programme, *files), daemon=True)
        start_fork(self._process)
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


@cache
def forking() -> ForkServerContext:
    """Return what makes forks, whose imports are made before them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOADED])
    return context


def start_fork(process: ForkServerProcess) -> None:
    """Start a process, and the fork server if it is the first."""
    with chdir(ROOT), pytest.MonkeyPatch.context() as patch:
        for name, value in ONE_THREAD.items():
            patch.setenv(name, value)
        process.start()


def _run(programme: Programme, stdout: int, stderr: int) -> None:
    """Become the programme. Raises SystemExit with its exit code."""
    threads = len(list(Path(f"/proc/{os.getppid()}/task").iterdir()))
    if programme.leads:
        os.setsid()
    os.environ.clear()
    os.environ.update(programme.environment)
    os.chdir(programme.folder)
    for number, place in ((stdout, 1), (stderr, 2)):
        os.dup2(number, place)
        os.close(number)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    if threads > 1:
        sys.exit(f"The fork server runs {threads} threads; import what starts them later")
    if PRELOADED not in sys.modules:
        sys.exit(f"The fork server could not import {PRELOADED}: python -m {PRELOADED} says why")
    module, *sys.argv[1:] = programme.arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def launch(
    programme: Programme, stdout: int, stderr: int, *, plain: bool = False
) -> subprocess.Popen[bytes] | Forked:
    """Start a programme that writes to these files; ``plain``: by the interpreter itself."""
    if CAN_FORK and not plain and not programme.first:
        return Forked(programme, stdout, stderr)
    command = [sys.executable, "-m", *programme.arguments]
    if programme.first:
        command = ["sh", "-c", f'{programme.first} && exec "$0" "$@"', *command]
    return subprocess.Popen(
        command,
        cwd=programme.folder,
        env=programme.environment,
        stdout=stdout,
        stderr=stderr,
        start_new_session=programme.leads,
    )


def completed(programme: Programme, *, plain: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a programme to its end. Raises subprocess.TimeoutExpired after a minute."""
    with TemporaryFile() as out, TemporaryFile() as err:
        running = launch(programme, out.fileno(), err.fileno(), plain=plain)
        try:
            code = running.wait(60)
        finally:
            running.send_signal(SIGKILL)
        return subprocess.CompletedProcess(programme.arguments, code, _text(out), _text(err))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


class Running:
    """A programme that runs beside an event loop, with what is used of asyncio's ``Process``.

    Without a file for ``stderr``, what it writes there can be read as well.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes] | Forked,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader | None,
    ) -> None:
        self._process = process
        self.pid = process.pid
        self.stdout = stdout
        self.stderr = stderr

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    async def wait(self) -> int:
        while (code := self.returncode) is None:  # noqa: ASYNC110 - what ends is a process
            await asyncio.sleep(_LOOK_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def terminate(self) -> None:
        self.send_signal(SIGTERM)

    def kill(self) -> None:
        self.send_signal(SIGKILL)


async def started(
    programme: Programme, *, stderr: IO[bytes] | None = None, plain: bool = False
) -> Running:
    """Start a programme beside an event loop."""
    out, stdout = await _pipe()
    err, log = (None, stderr) if stderr else await _pipe()
    with stdout, log:
        files = stdout.fileno(), log.fileno()
        process = await asyncio.to_thread(launch, programme, *files, plain=plain)
    return Running(process, out, err)


async def _pipe() -> tuple[asyncio.StreamReader, IO[bytes]]:
    """Return what reads a pipe, and the file that a process writes to."""
    reading, writing = os.pipe()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(reading, "rb", buffering=0))
    return reader, os.fdopen(writing, "wb")
