"""Brings one space up to date in a process of its own, told to the server line by line.

Reading a large document keeps a Python process busy for seconds at a time; in the server's own,
nobody would be answered meanwhile. And what a hostile file does to it ends here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import structlog
from pydantic import BaseModel, TypeAdapter

from ingestion import errors
from ingestion.config import Settings, load_settings
from ingestion.errors import IngestionError, RunInProgress
from ingestion.opening import open_sources
from ingestion.ports import Progress, TellsUse
from ingestion.records.leases import Leases
from ingestion.records.noting import to_look_at_again
from ingestion.records.opening import Records, records_of
from ingestion.records.types import Run
from ingestion.run import sync_source
from ingestion.runs import SyncSpace
from ingestion.types import Extent, Report
from rag.assembly import open_embedder, open_search_index
from rag.errors import RagError
from rag.ports import Embedder, SearchIndex
from rag.types import EmbeddingUse

_ROOT = Path(__file__).parents[1]
_LONGEST_LINE = 64 * 1024 * 1024
_NICER = 5
_REPORT = TypeAdapter(Report)
_DIED = "The process that reads documents ended early. Look at the log, and reindex."


class Job(BaseModel):
    """What a worker is told; all else it reads from the settings in its own environment."""

    data_dir: Path
    tenant: str
    space: str
    dry_run: bool
    allow_mass_delete: bool
    largest: int
    extent: Extent = "all"
    page: str = ""


def in_a_process(
    data_dir: Path, tenant: str, largest: int, leases: Leases | None = None
) -> SyncSpace:
    """Return what brings a space up to date in a process of its own.

    With ``leases`` no process is started in vain for a space that somebody works on.
    """
    data_dir = data_dir.absolute()

    async def sync(space: str, progress: Progress, run: Run) -> Report:
        if leases is not None and not run.dry_run and await leases.busy(space):
            raise RunInProgress(f"Another run works on space {space!r}; wait until it ends.")
        job = Job(
            data_dir=data_dir,
            tenant=tenant,
            space=space,
            dry_run=run.dry_run,
            allow_mass_delete=run.allow_mass_delete,
            largest=largest,
            extent=run.extent,
            page=run.page,
        )
        async with _worker(job) as lines:
            async for line in lines:
                report = _heard(json.loads(line), progress)
                if report is not None:
                    return report
        raise IngestionError(_DIED)

    return sync


@asynccontextmanager
async def _worker(job: Job) -> AsyncIterator[asyncio.StreamReader]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "ingestion.worker", job.model_dump_json()),
        env={**os.environ, "PYTHONPATH": _path()},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
        start_new_session=True,
    )
    try:
        yield process.stdout or asyncio.StreamReader()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _heard(said: Mapping[str, Any], progress: Progress) -> Report | None:
    """Pass on what a worker says; return its report, the last of it. Raises its error."""
    match said:
        case {"expect": pages, "use": use}:
            if isinstance(progress, TellsUse):
                progress.expect(pages, EmbeddingUse(**use))
        case {"begin": pages, "space": space}:
            progress.begin(space, pages)
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


class Spoken:
    """Implements ingestion.ports.Progress by lines of JSON."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def expect(self, pages: int, use: EmbeddingUse) -> None:
        self.say(expect=pages, use=asdict(use))

    def begin(self, space: str, pages: int) -> None:
        self.say(begin=pages, space=space)

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        self.say(pages=pages, chunks=chunks)

    def fail(self, page: str, reason: str) -> None:
        self.say(page=page, reason=reason)

    def end(self) -> None: ...

    def say(self, **said: object) -> None:
        """Write one line; a server that is gone ends the process by that."""
        print(json.dumps(said), file=self._stream, flush=True)


async def work(job: Job, spoken: Spoken) -> None:
    """Do a job and say how it went."""
    try:
        here = {"data_dir": job.data_dir, "tenant": job.tenant}
        settings = load_settings().model_copy(update=here)
        records = records_of(settings)
        try:
            report = await _synced(job, settings, records, spoken)
        finally:
            records.close()
    except (IngestionError, RagError) as error:
        spoken.say(error=type(error).__name__, text=str(error))
    else:
        spoken.say(report=_REPORT.dump_python(report, mode="json"))


async def _synced(job: Job, settings: Settings, records: Records, spoken: Spoken) -> Report:
    before = (await records.ledger.synced()).get(job.space)
    async with (
        open_sources(settings, records, job.largest) as sources,
        _opened(settings) as (index, embedder),
    ):
        return await sync_source(
            await sources.of(job.space),
            index,
            embedder,
            tenant=job.tenant,
            leases=records.leases,
            dry_run=job.dry_run,
            allow_mass_delete=job.allow_mass_delete,
            extent=job.extent,
            page=job.page,
            watermark=before.watermark if before else "",
            again=to_look_at_again(before),
            progress=spoken,
        )


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[tuple[SearchIndex, Embedder | None]]:
    async with open_embedder(settings) as (embedder, _):
        index = await open_search_index(settings, embedder, write=True)
        try:
            yield index, embedder
        finally:
            await index.close()


def _path() -> str:
    """Return where Frontdesk is found from any folder: ``.env`` is looked for in the server's."""
    return os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))


def main(arguments: list[str]) -> int:
    """Do the job that the only argument describes."""
    logging.disable(logging.CRITICAL)
    # What is said on standard output is for the server alone.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    if hasattr(os, "nice"):
        os.nice(_NICER)
    asyncio.run(work(Job.model_validate_json(arguments[0]), Spoken(sys.stdout)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
