"""Sync spaces in a worker process that reads jobs and writes reports as lines of JSON.

Parsing a large document blocks a Python process for seconds; in the server's own, nobody would be
answered meanwhile. And a hostile file can crash only the worker.

Jobs are read from standard input, one at a time; at its end the process exits.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TextIO

import structlog
from pydantic import BaseModel, TypeAdapter

from ingestion.config import Settings, load_settings
from ingestion.errors import IngestionError
from ingestion.records.ledger import Records, records_of
from ingestion.runs.source_registry import open_sources
from ingestion.runs.tracking import pages_to_retry
from ingestion.sync.sync import SyncScope, sync_source
from ingestion.types import Extent, Report
from rag.errors import RagError
from rag.factory import open_embedder, open_search_index
from rag.ports import Embedder, SearchIndex
from rag.retrying import log_long_waits
from rag.types import EmbeddingUse

_NICENESS = 5
_MOST_JOBS = 200
_MOST_BYTES = 1024**3
"""A worker whose peak memory exceeded this exits after its job: Python does not give it back."""
_BYTES_A_UNIT = 1 if sys.platform == "darwin" else 1024
_REPORT = TypeAdapter(Report)


class Job(BaseModel):
    """A job for a worker; everything else is read from the settings in its own environment."""

    data_dir: Path
    tenant: str
    space: str
    dry_run: bool
    allow_mass_delete: bool
    largest: int
    extent: Extent = "all"
    page: str = ""


class JsonProgress:
    """Writes progress as lines of JSON. Implements ``ingestion.types.Progress``."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def begin(self, space: str, pages: int, use: EmbeddingUse | None = None) -> None:
        self.send(begin=pages, space=space, use=None if use is None else asdict(use))

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        self.send(pages=pages, chunks=chunks)

    def fail(self, page: str, reason: str) -> None:
        self.send(page=page, reason=reason)

    def end(self) -> None: ...

    def send(self, **message: object) -> None:
        """Write one line; if the server is gone, the process ends."""
        print(json.dumps(message), file=self._stream, flush=True)


class Worker:
    """Executes jobs, loading the embedder once. Call ``close`` at the end."""

    def __init__(self, output: JsonProgress) -> None:
        self._output = output
        self._jobs_done = 0
        self._settings: Settings | None = None
        self._embedder: Embedder | None = None
        self._opened = AsyncExitStack()

    @property
    def stays(self) -> bool:
        """Return whether the worker accepts another job."""
        return self._jobs_done < _MOST_JOBS and peak_memory_bytes() < _MOST_BYTES

    async def work(self, job: Job) -> bool:
        """Execute a job and write its outcome; return whether the worker accepts another."""
        self._output.send(taken=job.space)
        self._jobs_done += 1
        try:
            here = {"data_dir": job.data_dir, "tenant": job.tenant}
            settings = load_settings().model_copy(update=here)
            records = records_of(settings, settings.database_url)
            try:
                report = await self._synced(job, settings, records)
            finally:
                records.close()
        except (IngestionError, RagError) as error:
            self._output.send(error=type(error).__name__, text=str(error), stays=self.stays)
        else:
            told = _REPORT.dump_python(report, mode="json")
            self._output.send(report=told, stays=self.stays)
        return self.stays

    async def close(self) -> None:
        await self._opened.aclose()

    async def _synced(self, job: Job, settings: Settings, records: Records) -> Report:
        before = (await records.ledger.synced()).get(job.space)
        embedder = await self._embedder_by(settings)
        async with (
            open_sources(settings, records, job.largest) as sources,
            _index(settings, embedder) as index,
        ):
            report = await sync_source(
                await sources.source(job.space),
                index,
                embedder,
                tenant=job.tenant,
                leases=records.leases,
                dry_run=job.dry_run,
                allow_mass_delete=job.allow_mass_delete,
                scope=SyncScope(
                    job.extent,
                    job.page,
                    before.watermark if before else "",
                    pages_to_retry(before),
                ),
                progress=self._output,
            )
            told = await sources.warnings(job.space)
            return replace(report, warnings=(*report.warnings, *told))

    async def _embedder_by(self, settings: Settings) -> Embedder | None:
        """Return the embedder; a missing one is looked for again for each job."""
        if self._embedder is None or self._settings != settings:
            self._embedder = None
            await self._opened.aclose()
            opening = open_embedder(settings)
            self._embedder, _ = await self._opened.enter_async_context(opening)
            self._settings = settings
        return self._embedder


@asynccontextmanager
async def _index(settings: Settings, embedder: Embedder | None) -> AsyncIterator[SearchIndex]:
    index = await open_search_index(settings, embedder, write=True)
    try:
        yield index
    finally:
        await index.close()


async def serve(lines: asyncio.StreamReader, work: Callable[[Job], Awaitable[bool]]) -> None:
    """Execute one job after the other; stop in the middle of one when standard input ends.

    ``work`` returns whether it accepts another job.
    """
    coming = asyncio.ensure_future(lines.readline())
    while line := await coming:
        coming = asyncio.ensure_future(lines.readline())
        working = asyncio.ensure_future(work(Job.model_validate_json(line)))
        await asyncio.wait([working, coming], return_when=asyncio.FIRST_COMPLETED)
        if not working.done() and coming.done() and not coming.result():
            working.cancel()
        stays = False
        with suppress(asyncio.CancelledError):
            stays = await working
        if not stays:
            break
    coming.cancel()


async def _main() -> None:
    worker = Worker(JsonProgress(sys.stdout))
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    try:
        await serve(lines, worker.work)
    finally:
        await worker.close()
    # A thread may still be busy with a page for minutes, and its result is not needed.
    os._exit(0)


def peak_memory_bytes() -> int:
    """Return the peak memory of this process in bytes; 0 where that is unavailable.

    getrusage would include what the parent held when it started this process; Linux's /proc status
    does not.
    """
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    with suppress(ImportError):
        import resource  # noqa: PLC0415 - there is none on Windows

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES_A_UNIT
    return 0


def main() -> int:
    """Execute the jobs on standard input."""
    logging.disable(logging.CRITICAL)
    # Standard output carries the protocol, so nothing else may be printed to it.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    log_long_waits()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    asyncio.run(_main())
    return 0


if __name__ == "__main__":
    sys.exit(main())
