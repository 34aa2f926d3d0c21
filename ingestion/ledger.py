"""What runs did and do, and which source fills which space; one small file for all processes."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter

from ingestion.errors import LedgerUnavailable

FILE = "ingestion.sqlite"
_KEPT_RUNS = 200
_BUSY_SECONDS = 10.0
SILENT_SECONDS = 15.0
"""A run whose process has not written for so long is taken for interrupted."""

_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    active INTEGER NOT NULL,
    owner TEXT NOT NULL,
    beat REAL NOT NULL,
    cancel INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS synced (
    tenant TEXT NOT NULL, space TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, space)
);
CREATE TABLE IF NOT EXISTS sources (
    tenant TEXT NOT NULL, space TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, space)
);
"""

State = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]
ACTIVE: frozenset[State] = frozenset({"waiting", "running"})
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Failure:
    """A page (or with ``page`` "" a whole space) that could not be read, why, and the cure.

    ``mass_delete``: the run held back, or would, for too much of the space is gone.
    """

    space: str
    page: str
    reason: str
    cure: str
    mass_delete: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A run over one space, or with None over all, as far as it is.

    ``pages`` of ``total`` are done, which made ``chunks``; ``working_seconds`` counts from the
    first page. Of ``failed`` pages the first are in ``failures``. ``resumed_as`` are the runs that
    went on with it after it was interrupted.
    """

    id: str
    space: str | None
    dry_run: bool
    allow_mass_delete: bool
    by: str
    state: State
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    at_space: str = ""
    pages: int = 0
    total: int = 0
    chunks: int = 0
    working_seconds: float = 0.0
    added: int = 0
    changed: int = 0
    removed: int = 0
    readers_changed: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    failures: tuple[Failure, ...] = ()
    resumed_as: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it waits or works."""
        return self.state in ACTIVE

    @property
    def chunks_per_second(self) -> float:
        return self.chunks / self.working_seconds if self.working_seconds else 0.0

    @property
    def remaining_seconds(self) -> float | None:
        """How long it still takes, by the pages so far; None before the first."""
        if not self.pages or not self.active:
            return None
        return self.working_seconds / self.pages * (self.total - self.pages)


@dataclass(frozen=True, slots=True)
class Synced:
    """The last run that brought a space up to date; when it began, and what failed in it."""

    started_at: datetime
    ended_at: datetime
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A folder that fills a space, as it was named to the command line."""

    path: str
    readers: tuple[tuple[str, ...], ...]
    base_url: str | None = None


_RUN = TypeAdapter(Run)
_SYNCED = TypeAdapter(Synced)
_FOLDER = TypeAdapter(FolderEntry)


class Ledger:
    """The file; every method may be called from any process, none blocks the event loop.

    What it tells is for people and for resuming: no run is decided by it, only by the lease.
    """

    def __init__(self, data_dir: Path, tenant: str) -> None:
        self._path = data_dir / FILE
        self._tenant = tenant
        self._owner = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex}"

    async def write(self, run: Run) -> bool:
        """Keep how far a run of this process is; return whether somebody wants it cancelled.

        What is written after the end changes nothing: a thread may be late.
        """

        def write(connection: sqlite3.Connection) -> bool:
            connection.execute(
                "INSERT INTO runs (id, tenant, active, owner, beat, body) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "active = excluded.active, owner = excluded.owner, beat = excluded.beat, "
                "body = excluded.body WHERE runs.active OR NOT excluded.active",
                (
                    run.id,
                    self._tenant,
                    run.active,
                    self._owner,
                    time.time(),
                    _RUN.dump_json(run).decode(),
                ),
            )
            row = connection.execute("SELECT cancel FROM runs WHERE id = ?", (run.id,)).fetchone()
            return bool(row[0])

        return await self._run(write)

    async def cancel(self, run_id: str) -> None:
        """Ask whichever process works on a run to stop it."""
        await self._run(lambda c: c.execute("UPDATE runs SET cancel = 1 WHERE id = ?", (run_id,)))

    async def newest(self, limit: int) -> Sequence[Run]:
        """Return the last runs, newest first; those of dead processes are interrupted."""

        def read(connection: sqlite3.Connection) -> Sequence[Run]:
            rows = connection.execute(
                "SELECT body, owner, beat FROM runs WHERE tenant = ? ORDER BY number DESC LIMIT ?",
                (self._tenant, limit),
            )
            return [self._told(*row) for row in rows]

        return await self._run(read)

    async def active(self) -> Sequence[Run]:
        """Return the runs that wait or work, in any process."""

        def read(connection: sqlite3.Connection) -> Sequence[Run]:
            rows = connection.execute(
                "SELECT body, owner, beat FROM runs WHERE tenant = ? AND active", (self._tenant,)
            )
            return [run for row in rows if (run := self._told(*row)).active]

        return await self._run(read)

    async def get(self, run_id: str) -> Run | None:
        def read(connection: sqlite3.Connection) -> Run | None:
            row = connection.execute(
                "SELECT body, owner, beat FROM runs WHERE tenant = ? AND id = ?",
                (self._tenant, run_id),
            ).fetchone()
            return None if row is None else self._told(*row)

        return await self._run(read)

    async def interrupted(self) -> Sequence[Run]:
        """Return the runs of dead processes that are not settled yet.

        One that somebody wanted cancelled is cancelled by that.
        """

        def read(connection: sqlite3.Connection) -> Sequence[Run]:
            rows = connection.execute(
                "SELECT cancel, body, owner, beat FROM runs WHERE tenant = ? AND active",
                (self._tenant,),
            )
            told = [(cancel, self._told(*row)) for cancel, *row in rows]
            return [
                replace(run, state="cancelled") if cancel else run
                for cancel, run in told
                if not run.active
            ]

        return await self._run(read)

    async def settle(self, interrupted: Sequence[Run]) -> None:
        """Note that these were interrupted, with what resumes them, and forget the oldest."""

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "UPDATE runs SET active = 0, body = ? WHERE id = ?",
                [(_RUN.dump_json(run).decode(), run.id) for run in interrupted],
            )
            connection.execute(
                "DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - ? "
                "AND NOT active",
                (_KEPT_RUNS,),
            )

        await self._run(write)

    async def note_synced(self, space: str, synced: Synced) -> None:
        """Keep when a space was last brought up to date."""
        await self._keep("synced", space, _SYNCED.dump_json(synced))

    async def synced(self) -> dict[str, Synced]:
        """Return when each space was last brought up to date."""
        return {space: _SYNCED.validate_json(body) for space, body in await self._all("synced")}

    async def note_folder(self, space: str, folder: FolderEntry) -> None:
        """Remember which folder fills a space, so that it can be read again."""
        await self._keep("sources", space, _FOLDER.dump_json(folder))

    async def folders(self) -> dict[str, FolderEntry]:
        """Return which folder fills which space."""
        return {space: _FOLDER.validate_json(body) for space, body in await self._all("sources")}

    async def forget(self, space: str) -> None:
        """Forget a space that is no more."""

        def write(connection: sqlite3.Connection) -> None:
            for table in ("synced", "sources"):
                connection.execute(
                    f"DELETE FROM {table} WHERE tenant = ? AND space = ?",  # noqa: S608 - ours
                    (self._tenant, space),
                )

        await self._run(write)

    def _told(self, body: str, owner: str, beat: float) -> Run:
        run = _RUN.validate_json(body)
        if not run.active or self._lives(owner, beat):
            return run
        return replace(run, state="interrupted")

    def _lives(self, owner: str, beat: float) -> bool:
        if owner == self._owner:
            return True
        if time.time() - beat > SILENT_SECONDS:
            return False
        host, process, _ = owner.split("/")
        own_host, own_process, _ = self._owner.split("/")
        if host != own_host:
            return True
        return process != own_process and _runs(int(process))

    async def _keep(self, table: str, space: str, body: bytes) -> None:
        statement = (
            f"INSERT INTO {table} VALUES (?, ?, ?) "  # noqa: S608 - the name is ours
            "ON CONFLICT (tenant, space) DO UPDATE SET body = excluded.body"
        )
        await self._run(lambda c: c.execute(statement, (self._tenant, space, body.decode())))

    async def _all(self, table: str) -> list[tuple[str, str]]:
        statement = f"SELECT space, body FROM {table} WHERE tenant = ?"  # noqa: S608 - as above
        return await self._run(lambda c: c.execute(statement, (self._tenant,)).fetchall())

    async def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await asyncio.to_thread(self._work, work)

    def _work(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as connection:
                connection.executescript(_TABLES)
                with connection:
                    return work(connection)
        except (sqlite3.Error, OSError) as error:
            raise LedgerUnavailable(
                f"{str(self._path)!r} cannot be used ({error}). Check that this user may write to "
                "it and that the disk has room; if it is damaged, move it away."
            ) from error


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
