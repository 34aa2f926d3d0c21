"""Send jobs to worker processes, and forward their progress and reports.

An idle worker waits a while for the next job, so that a round over many spaces needs one start. A
worker whose job was cancelled or failed is killed; the next job starts another.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ingestion import errors
from ingestion.errors import IngestionError, RunInProgress
from ingestion.records.leases import Leases
from ingestion.records.types import Run
from ingestion.runs.worker import Job
from ingestion.types import Progress, Report
from rag.errors import RagError
from rag.types import EmbeddingUse

IDLE_SECONDS = 20.0
"""Idle workers exit after this time, longer than the schedule's interval between checks."""
_PATIENCE_SECONDS = 1.0
"""A job waits this long for a busy worker before another one is started."""
_FINAL_OUTPUT_SECONDS = 1.0
_ROOT = Path(__file__).parents[2]
_LONGEST_LINE = 64 * 1024 * 1024
_REPORT = TypeAdapter(Report)
_LINE = TypeAdapter(dict[str, Any])
_DIED = "The process that reads documents ended early. Look at the log, and reindex."


class WorkerPool:
    """Syncs spaces in reusable worker processes. Implements ``SyncSpace``.

    Args:
        data_dir: Where the index and the uploads are.
        tenant: The tenant of the spaces.
        largest: Size limit of a file in bytes.
        leases: With them no worker is started for a space that is in use.
        resting_seconds: How long an idle worker stays.
    """

    def __init__(
        self,
        data_dir: Path,
        tenant: str,
        largest: int,
        leases: Leases | None = None,
        *,
        resting_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._data_dir = data_dir.absolute()
        self._tenant = tenant
        self._largest = largest
        self._leases = leases
        self._resting_seconds = resting_seconds
        self._idle: dict[_WorkerProcess, asyncio.Task[None]] = {}
        self._idle_waits: set[asyncio.Task[None]] = set()
        self._busy = 0
        self._freed = asyncio.Condition()

    async def __call__(self, space: str, progress: Progress, run: Run) -> Report:
        if self._leases is not None and not run.dry_run and await self._leases.busy(space):
            raise RunInProgress(f"Another run works on space {space!r}; wait until it ends.")
        return await self._do(self._job(space, run), progress)

    async def close(self) -> None:
        """End the idle workers."""
        while (worker := self._take_idle()) is not None:
            await worker.end()
        if self._idle_waits:
            await asyncio.wait(self._idle_waits)

    def _job(self, space: str, run: Run) -> Job:
        return Job(
            data_dir=self._data_dir,
            tenant=self._tenant,
            space=space,
            dry_run=run.dry_run,
            allow_mass_delete=run.allow_mass_delete,
            largest=self._largest,
            extent=run.extent,
            page=run.page,
        )

    async def _do(self, job: Job, progress: Progress) -> Report:
        await self._await_free()
        idle = self._take_idle()
        self._busy += 1
        try:
            if idle is not None:
                with suppress(_JobNotTaken):
                    return await self._execute(idle, job, progress)
            return await self._execute(await _start_shielded(), job, progress)
        finally:
            self._busy -= 1
            async with self._freed:
                self._freed.notify_all()

    async def _await_free(self) -> None:
        """Wait briefly for a busy worker to finish: starting one costs more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS), self._freed:
                await self._freed.wait_for(lambda: self._idle or not self._busy)

    def _take_idle(self) -> _WorkerProcess | None:
        if not self._idle:
            return None
        worker, waiting = self._idle.popitem()
        waiting.cancel()
        return worker

    async def _execute(self, worker: _WorkerProcess, job: Job, progress: Progress) -> Report:
        try:
            return await worker.do(job, progress)
        finally:
            if worker.fit:
                self._keep_idle(worker)
            else:
                await worker.end()

    def _keep_idle(self, worker: _WorkerProcess) -> None:
        waiting = asyncio.create_task(self._wait_idle(worker))
        self._idle[worker] = waiting
        self._idle_waits.add(waiting)
        waiting.add_done_callback(self._idle_waits.discard)

    async def _wait_idle(self, worker: _WorkerProcess) -> None:
        try:
            await worker.wait_for_exit(self._resting_seconds)
        finally:
            # The waiter that was woken gets the worker.
            if self._idle.pop(worker, None) is not None:
                await worker.end()


async def _start_shielded() -> _WorkerProcess:
    """Start a worker, shielded from cancellation: an interrupted start would leak pipes."""
    starting = asyncio.create_task(_start_process())
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await (await starting).end()
        raise


async def _start_process() -> _WorkerProcess:
    return _WorkerProcess(
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "ingestion.runs.worker"),
            env={**os.environ, "PYTHONPATH": _python_path()},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
    )


class _JobNotTaken(IngestionError):
    """The worker exited before it accepted the job."""


class _WorkerProcess:
    """One worker process; ``fit`` while it could accept another job."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._stdout = process.stdout or asyncio.StreamReader()
        self.fit = False

    async def do(self, job: Job, progress: Progress) -> Report:
        """Execute a job. Raises its error, and _JobNotTaken."""
        self.fit = False
        await self._send(job)
        try:
            return await self._report(progress)
        except ValueError as error:
            # An incomplete line, an endless one, or one that is not of the protocol.
            self.fit = False
            raise IngestionError(_DIED) from error

    async def _report(self, progress: Progress) -> Report:
        async for line in self._stdout:
            message = _LINE.validate_json(line)
            self.fit = message.get("stays", False)
            report = _forward(message, progress)
            if report is not None:
                return report
        raise IngestionError(_DIED)

    async def wait_for_exit(self, seconds: float) -> None:
        """Wait for the process to exit, at most this many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()

    async def end(self) -> None:
        """Kill the process."""
        if self._process.returncode is None:
            self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        with suppress(TimeoutError):
            # Its pipe is closed only when everything has been read.
            async with asyncio.timeout(_FINAL_OUTPUT_SECONDS):
                await self._stdout.read()

    async def _send(self, job: Job) -> None:
        if self._process.stdin is None:
            raise _JobNotTaken(_DIED)
        try:
            self._process.stdin.write(f"{job.model_dump_json()}\n".encode())
            await self._process.stdin.drain()
        except OSError as error:
            raise _JobNotTaken(_DIED) from error
        if not await self._stdout.readline():
            raise _JobNotTaken(_DIED)


def _forward(message: Mapping[str, Any], progress: Progress) -> Report | None:
    """Forward a worker's message; return its final report, else None. Raises its error."""
    match message:
        case {"begin": pages, "space": space, "use": use}:
            progress.begin(space, pages, None if use is None else EmbeddingUse(**use))
        case {"pages": pages, "chunks": chunks}:
            progress.advance(pages=pages, chunks=chunks)
        case {"page": page, "reason": reason}:
            progress.fail(page, reason)
        case {"report": report}:
            progress.end()
            return _REPORT.validate_python(report)
        case {"error": kind, "text": text}:
            known = getattr(errors, kind, None)
            raise (known or RagError)(text)
    return None


def _python_path() -> str:
    """Return a PYTHONPATH with Frontdesk's code, as workers may run in any directory."""
    return os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
