"""When the schedule last began a pass over a space; one of several replicas begins each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, select, update

from ingestion.records.database import Database
from ingestion.records.tables import PASSES
from ingestion.types import Extent


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass that was begun: so many seconds ago, as which run ("" if it never came to one).

    ``failures`` is how many before it failed in a row.
    """

    seconds_ago: float
    run: str
    failures: int


class Passes:
    """Every method raises LedgerUnavailable."""

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
        """Begin a pass, unless one began within so many seconds; of many who ask, one may."""
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
        """Keep which run a pass came to."""
        statement = update(PASSES).where(*self._at(space, extent)).values(run=run)
        await self._database.run(lambda connection: connection.execute(statement))

    async def forget(self, space: str) -> None:
        """Forget a space that is no more."""
        statement = delete(PASSES).where(PASSES.c.tenant == self._tenant, PASSES.c.space == space)
        await self._database.run(lambda connection: connection.execute(statement))

    def _at(self, space: str, extent: Extent) -> tuple[ColumnElement[bool], ...]:
        return (
            PASSES.c.tenant == self._tenant,
            PASSES.c.space == space,
            PASSES.c.extent == extent,
        )
