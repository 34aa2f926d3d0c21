"""Store past and current runs, the source of each space, and scheduled passes in the database.

All processes share one ledger; each scheduled pass is started by one of several replicas. Records
belong to an index: they are beside it, or on its server (docs/adr/0010).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import SecretStr, TypeAdapter
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    delete,
    insert,
    select,
    true,
    update,
)

from ingestion.records.database import PASSES, RUNS, SOURCES, SYNCED, Database, sqlite_in
from ingestion.records.leases import (
    FileLeases,
    Leases,
    TableLeases,
    is_dead,
    is_replaced,
    owner_here,
)
from ingestion.records.types import FolderEntry, Run, Synced
from ingestion.types import Extent
from rag.config import SearchSettings

_KEPT_RUNS = 200
SILENT_SECONDS = 15.0
"""A run without a heartbeat for this long counts as interrupted."""

_RUN = TypeAdapter(Run)
_SYNCED = TypeAdapter(Synced)
_FOLDER = TypeAdapter(FolderEntry)


class Ledger:
    """Stores runs. Every method may be called from any process; none blocks the event loop.

    The ledger informs people and lets runs be resumed; what a run may do is decided by its lease
    only. Every method raises LedgerUnavailable.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant
        self._owner = owner_here()

    async def begin(self, run: Run) -> None:
        """Store a run that this process starts."""
        begun = insert(RUNS).values(
            id=run.id, tenant=self._tenant, owner=self._owner, **self._kept(run)
        )
        await self._database.run(lambda connection: connection.execute(begun))

    async def write(self, run: Run) -> bool:
        """Store the progress of a run of this process; return whether it has to stop.

        It has to when its cancellation was requested, or when another process took it over because
        this one was silent. Writes after the end are ignored, also for a dropped run: a thread may
        be late, and a run stored again would never end.
        """
        ours = RUNS.c.id == run.id, RUNS.c.owner == self._owner

        def write(connection: Connection) -> bool:
            row = connection.execute(
                select(RUNS.c.owner, RUNS.c.cancel).where(RUNS.c.id == run.id).with_for_update()
            ).first()
            if row is None:
                return False
            late = RUNS.c.active if run.active else true()
            connection.execute(update(RUNS).where(*ours, late).values(**self._kept(run)))
            if not run.active:
                self._forget_oldest(connection)
            return bool(row.cancel) or row.owner != self._owner

        return await self._database.run(write)

    async def drop(self, run_id: str) -> None:
        """Delete a run that has nothing to report."""
        statement = delete(RUNS).where(RUNS.c.tenant == self._tenant, RUNS.c.id == run_id)
        await self._database.run(lambda connection: connection.execute(statement))

    async def cancel(self, run_id: str) -> None:
        """Request cancellation of a run in whichever process it is."""
        statement = update(RUNS).where(RUNS.c.id == run_id).values(cancel=True)
        await self._database.run(lambda connection: connection.execute(statement))

    async def newest(self, limit: int) -> Sequence[Run]:
        """Return the last runs, newest first; those of dead processes count as interrupted."""
        newest = self._rows().order_by(RUNS.c.number.desc()).limit(limit)
        return [self._told(row) for row in await self._read(newest)]

    async def active(self) -> Sequence[Run]:
        """Return the waiting and working runs of all processes."""
        told = [self._told(row) for row in await self._read(self._rows().where(RUNS.c.active))]
        return [run for run in told if run.active]

    async def get(self, run_id: str) -> Run | None:
        rows = await self._read(self._rows().where(RUNS.c.id == run_id))
        return self._told(rows[0]) if rows else None

    async def by(self, names: frozenset[str]) -> Sequence[Run]:
        """Return the runs that somebody started, newest first."""
        rows = await self._read(self._rows().order_by(RUNS.c.number.desc()))
        return [run for run in map(self._told, rows) if run.by in names]

    async def unname(self, names: frozenset[str], instead: str) -> int:
        """Name somebody else as who started runs; return how many still work under the old name.

        Those are left: the process that works on one writes it again.
        """
        started = await self.by(names)
        for run in [each for each in started if not each.active]:
            body = _RUN.dump_json(replace(run, by=instead)).decode()
            statement = update(RUNS).where(RUNS.c.id == run.id).values(body=body)
            await self._database.run(partial(Connection.execute, statement=statement))
        return sum(run.active for run in started)

    async def interrupted(self) -> Sequence[Run]:
        """Take over the runs of dead processes that are not settled yet, and return them.

        Each is taken by exactly one process; should that one die before it settles them, they are
        interrupted again. A run whose cancellation was requested is thereby cancelled.
        """
        rows = await self._read(self._rows().where(RUNS.c.active))
        dead = [(row, told) for row in rows if not (told := self._told(row)).active]
        if not dead:
            return []

        def take(connection: Connection) -> Sequence[Run]:
            return [
                replace(told, state="cancelled") if row["cancel"] else told
                for row, told in dead
                if self._take_over(connection, row)
            ]

        return await self._database.run(take)

    async def settle(self, interrupted: Sequence[Run]) -> None:
        """Mark these runs as interrupted, with the runs that resume them."""

        def write(connection: Connection) -> None:
            for run in interrupted:
                body = _RUN.dump_json(run).decode()
                connection.execute(
                    update(RUNS).where(RUNS.c.id == run.id).values(active=False, body=body)
                )

        await self._database.run(write)

    async def change_synced(
        self, space: str, change: Callable[[Synced | None], Synced | None]
    ) -> None:
        """Update the sync state of a space by a function (None: no state), in one transaction."""

        def change_body(before: str | None) -> str | None:
            after = change(None if before is None else _SYNCED.validate_json(before))
            return None if after is None else _SYNCED.dump_json(after).decode()

        await self._change(SYNCED, space, change_body)

    async def synced(self) -> dict[str, Synced]:
        """Return the sync state of each space."""
        return {space: _SYNCED.validate_json(body) for space, body in await self._all(SYNCED)}

    async def note_folder(self, space: str, folder: FolderEntry) -> None:
        """Store the folder that fills a space, so that it can be read again."""
        body = _FOLDER.dump_json(folder).decode()
        await self._change(SOURCES, space, lambda _: body)

    async def folders(self) -> dict[str, FolderEntry]:
        """Return the folder of each space that a folder fills."""
        return {space: _FOLDER.validate_json(body) for space, body in await self._all(SOURCES)}

    async def forget(self, space: str) -> None:
        """Delete the entries of a removed space."""

        def write(connection: Connection) -> None:
            for table in (SYNCED, SOURCES):
                connection.execute(delete(table).where(*self._at(table, space)))

        await self._database.run(write)

    def _kept(self, run: Run) -> dict[str, Any]:
        return {
            "active": run.active,
            "beat": self._database.now,
            "body": _RUN.dump_json(run).decode(),
        }

    def _rows(self) -> Select[Any]:
        silent = (self._database.now - RUNS.c.beat).label("silent")
        columns = RUNS.c.id, RUNS.c.body, RUNS.c.owner, RUNS.c.cancel, silent
        return select(*columns).where(RUNS.c.tenant == self._tenant)

    async def _read(self, statement: Select[Any]) -> Sequence[RowMapping]:
        return await self._database.run(lambda c: c.execute(statement).mappings().all())

    def _told(self, row: RowMapping) -> Run:
        run = _RUN.validate_json(row["body"])
        if not run.active or self._lives(row["owner"], row["silent"]):
            return run
        return replace(run, state="interrupted")

    def _lives(self, owner: str, silent: float) -> bool:
        if owner == self._owner:
            return True
        gone = is_dead(owner) or is_replaced(owner, self._owner)
        return silent <= SILENT_SECONDS and not gone

    def _take_over(self, connection: Connection, row: RowMapping) -> bool:
        taken = connection.execute(
            update(RUNS)
            .where(RUNS.c.id == row["id"], RUNS.c.owner == row["owner"], RUNS.c.active)
            .values(owner=self._owner, beat=self._database.now)
        )
        return taken.rowcount == 1

    async def _change(
        self, table: Table, space: str, change: Callable[[str | None], str | None]
    ) -> None:
        def write(connection: Connection) -> None:
            at = self._at(table, space)
            before = connection.scalar(select(table.c.body).where(*at).with_for_update())
            body = change(before)
            if body is None:
                return
            fresh = self._database.insert(table).values(tenant=self._tenant, space=space, body=body)
            kept = fresh.on_conflict_do_update(
                index_elements=["tenant", "space"], set_={"body": fresh.excluded.body}
            )
            connection.execute(kept)

        await self._database.run(write)

    async def _all(self, table: Table) -> Sequence[tuple[str, str]]:
        statement = select(table.c.space, table.c.body).where(table.c.tenant == self._tenant)
        return await self._database.run(
            lambda c: [(row.space, row.body) for row in c.execute(statement)]
        )

    def _at(self, table: Table, space: str) -> tuple[Any, Any]:
        return table.c.tenant == self._tenant, table.c.space == space

    def _forget_oldest(self, connection: Connection) -> None:
        mine = RUNS.c.tenant == self._tenant
        newest = select(RUNS.c.number).where(mine).order_by(RUNS.c.number.desc())
        last = newest.offset(_KEPT_RUNS).limit(1).scalar_subquery()
        connection.execute(delete(RUNS).where(mine, RUNS.c.number <= last, ~RUNS.c.active))


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass and its age in seconds; ``run`` is "" if no run was started for it.

    ``failures`` is how many before it failed in a row.
    """

    seconds_ago: float
    run: str
    failures: int


class Passes:
    """Stores scheduled passes. Every method raises LedgerUnavailable."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def begun(self) -> Mapping[tuple[str, Extent], Pass]:
        """Return the last pass of each space and extent."""
        ago = (self._database.now - PASSES.c.begun).label("ago")
        statement = select(PASSES, ago).where(PASSES.c.tenant == self._tenant)

        def read(connection: Connection) -> Mapping[tuple[str, Extent], Pass]:
            return {
                (row.space, row.extent): Pass(row.ago, row.run, row.failures)
                for row in connection.execute(statement)
            }

        return await self._database.run(read)

    async def claim(
        self, space: str, extent: Extent, *, idle_seconds: float, failures: int
    ) -> bool:
        """Claim a pass, unless one began within ``idle_seconds``; only one caller succeeds."""
        now = self._database.now
        fresh = self._database.insert(PASSES).values(
            tenant=self._tenant, space=space, extent=extent, begun=now, run="", failures=failures
        )
        claimed = fresh.on_conflict_do_update(
            index_elements=["tenant", "space", "extent"],
            set_={"begun": now, "run": "", "failures": failures},
            where=PASSES.c.begun <= now - idle_seconds,
        ).returning(PASSES.c.space)
        return await self._database.run(lambda c: c.scalar(claimed) is not None)

    async def note_run(self, space: str, extent: Extent, run: str) -> None:
        """Store the run that a pass started."""
        statement = update(PASSES).where(*self._at(space, extent)).values(run=run)
        await self._database.run(lambda connection: connection.execute(statement))

    async def forget(self, space: str) -> None:
        """Delete the passes of a removed space."""
        statement = delete(PASSES).where(PASSES.c.tenant == self._tenant, PASSES.c.space == space)
        await self._database.run(lambda connection: connection.execute(statement))

    def _at(self, space: str, extent: Extent) -> tuple[ColumnElement[bool], ...]:
        return (
            PASSES.c.tenant == self._tenant,
            PASSES.c.space == space,
            PASSES.c.extent == extent,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The stores of ingestion; nothing is opened before its first use."""

    ledger: Ledger
    leases: Leases
    passes: Passes
    database: Database

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        self.database.close()


def records_of(settings: SearchSettings, database_url: SecretStr | None) -> Records:
    """Return the records that belong to the configured index.

    An index shared by all replicas has its records on their database server, if there is one. A
    file index has them in a file beside it: what one replica indexed is not in another replica's
    index.
    """
    shared = database_url if settings.azure_search_configured else None
    url = shared.get_secret_value() if shared is not None else None
    return records_at(settings.data_dir, settings.tenant, url)


def records_at(data_dir: Path, tenant: str, database_url: str | None = None) -> Records:
    """Return the records on a database server, or in a data directory."""
    database = sqlite_in(data_dir) if database_url is None else Database(database_url)
    leases = FileLeases(data_dir, tenant) if database_url is None else TableLeases(database, tenant)
    return Records(
        ledger=Ledger(database, tenant),
        leases=leases,
        passes=Passes(database, tenant),
        database=database,
    )
