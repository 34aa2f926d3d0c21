"""Lease a space to one run at a time, and verify that the lease is still held.

A lock on a file ends with its process. Rows on a server expire when they are not renewed: a process
that hung for that long writes nothing more, for it confirms its lease before each write. An owner
is a process on a host, named so that others can determine whether it is alive.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
)
from pathlib import Path
from typing import Protocol

import structlog
from sqlalchemy import Connection, delete, or_, select, update

from ingestion.errors import LeaseLost, LedgerUnavailable, RunInProgress
from ingestion.records.database import LEASES, Database


def owner_here() -> str:
    """Return a unique name of this process: HOST/PROCESS/RANDOM."""
    return f"{_host()}/{os.getpid()}/{uuid.uuid4().hex}"


def is_dead(owner: str) -> bool:
    """Return whether an owner is certainly dead: a process of this host that no longer exists.

    Owners on other hosts cannot be checked, so False.
    """
    host, process, _ = owner.split("/")
    return host == _host() and process != str(os.getpid()) and not _runs(int(process))


def is_replaced(owner: str, ours: str) -> bool:
    """Return whether another owner had our process id here: in containers it is always 1."""
    return owner != ours and owner.split("/")[:2] == ours.split("/")[:2]


def _host() -> str:
    """Return the host and its process namespace: a container has its own."""
    try:
        counted_in = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        counted_in = ""
    return f"{socket.gethostname()}{counted_in}".replace("/", "_")


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def file_lease(data_dir: Path, tenant: str, space: str) -> Iterator[None]:
    """Hold a space for one run, in this process and against all others on this data directory.

    Raises:
        RunInProgress: another run holds it.
        LedgerUnavailable: the lock file cannot be written.
    """
    name = hashlib.blake2b(f"{tenant}\0{space}".encode(), digest_size=8).hexdigest()
    with ExitStack() as closing_later:
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            # SQLite locks files alike on every system, and a killed process releases them.
            connection = sqlite3.connect(
                data_dir / f"ingestion-{name}.lock", timeout=0, isolation_level=None
            )
            closing_later.enter_context(closing(connection))
            connection.execute("BEGIN EXCLUSIVE")
        except (sqlite3.Error, OSError) as error:
            if "locked" in str(error):
                raise RunInProgress(
                    f"Another run works on space {space!r} in {str(data_dir)!r}; wait until it "
                    "ends."
                ) from error
            raise LedgerUnavailable(
                f"{str(data_dir)!r} cannot be written to ({error}). Check that this user may write "
                "to it and that the disk has room."
            ) from error
        yield


log = structlog.get_logger(__name__)

LEASE_SECONDS = 20.0
_RENEW_SECONDS = 5.0
_SURE_SECONDS = 12.0
"""A lease is certainly still held this long after its renewal; a write may take the rest."""


Confirm = Callable[[], Awaitable[None]]
"""Called before each write to verify that the run may still write. Raises LeaseLost."""


async def no_confirmation() -> None:
    """Confirm without a check, for those whose right to write cannot be lost."""


class Leases(Protocol):
    """Grants leases on spaces."""

    def held(self, space: str) -> AbstractAsyncContextManager[Confirm]:
        """Hold a space for one run, against all others; the value confirms that it still is.

        Raises:
            RunInProgress: another run holds it.
            LeaseLost: it was lost meanwhile, which cancels the block.
            LedgerUnavailable: the holder cannot be determined.
        """
        ...

    async def busy(self, space: str) -> bool:
        """Return whether any run holds a space now. Raises LedgerUnavailable."""
        ...


class FileLeases:
    """Grants leases as file locks in a data directory. Implements ``Leases``."""

    def __init__(self, data_dir: Path, tenant: str) -> None:
        self._data_dir = data_dir
        self._tenant = tenant

    @asynccontextmanager
    async def held(self, space: str) -> AsyncIterator[Confirm]:
        with file_lease(self._data_dir, self._tenant, space):
            # A lock on a file cannot be lost.
            yield no_confirmation

    async def busy(self, space: str) -> bool:
        try:
            with file_lease(self._data_dir, self._tenant, space):
                return False
        except RunInProgress:
            return True


class TableLeases:
    """Grants leases as rows that expire by the database's clock. Implements ``Leases``."""

    def __init__(
        self,
        database: Database,
        tenant: str,
        *,
        lasting: float = LEASE_SECONDS,
        every: float = _RENEW_SECONDS,
        sure: float = _SURE_SECONDS,
    ) -> None:
        self._database = database
        self._tenant = tenant
        self._lasting = lasting
        self._every = every
        self._sure = sure

    @asynccontextmanager
    async def held(self, space: str) -> AsyncIterator[Confirm]:
        row = self._row(space)
        await row.take()
        holder = asyncio.current_task()
        renewing = asyncio.create_task(row.keep(self._every, holder))
        try:
            yield row.confirm
        except asyncio.CancelledError:
            if not row.lost or holder is None:
                raise
            if holder.uncancel():
                # The task was also cancelled by somebody else.
                raise
            raise LeaseLost(_lease_lost(space)) from None
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])
            await row.release()

    async def busy(self, space: str) -> bool:
        return await self._row(space).holder() is not None

    def _row(self, space: str) -> _RowLease:
        return _RowLease(self._database, self._tenant, space, self._lasting, self._sure)


class _RowLease:
    """The row of a space, renewed by this owner until it is released or lost."""

    def __init__(
        self, database: Database, tenant: str, space: str, lasting: float, sure: float
    ) -> None:
        self._database = database
        self._key = {"tenant": tenant, "space": space}
        self._here = LEASES.c.tenant == tenant, LEASES.c.space == space
        self._space = space
        self._lasting = lasting
        self._sure = sure
        self._owner = owner_here()
        self._renewed = 0.0
        self.lost = False

    async def take(self) -> None:
        """Acquire the space if it is free. Raises RunInProgress."""
        asked = time.monotonic()
        holder = await self._database.run(self._taken_by_another)
        if holder is not None:
            raise RunInProgress(
                f"Another run works on space {self._space!r}, on {holder.split('/')[0]!r}; wait "
                "until it ends."
            )
        self._renewed = asked

    def _taken_by_another(self, connection: Connection) -> str | None:
        """Take the row, unless another owner that may be alive holds it; return that one."""
        of_holder = select(LEASES.c.owner).where(*self._here)
        holder = connection.scalar(of_holder)
        dead = holder if holder is not None and is_dead(holder) else ""
        now = self._database.now
        ours = {"owner": self._owner, "beat": now, "expires": now + self._lasting}
        fresh = self._database.insert(LEASES).values(**self._key, **ours)
        taken = fresh.on_conflict_do_update(
            index_elements=["tenant", "space"],
            set_=ours,
            where=or_(LEASES.c.expires < now, LEASES.c.owner == dead),
        ).returning(LEASES.c.owner)
        if connection.scalar(taken) is not None:
            return None
        return connection.scalar(of_holder) or "?"

    async def confirm(self) -> None:
        if not self.lost and time.monotonic() - self._renewed > self._sure:
            try:
                await self._renew()
            except LedgerUnavailable as error:
                # Without confirmation nothing is written; the next run continues.
                self.lost = True
                raise LeaseLost(_lease_lost(self._space)) from error
        if self.lost:
            raise LeaseLost(_lease_lost(self._space))

    async def keep(self, every: float, holder: asyncio.Task[object] | None) -> None:
        """Renew the lease; once it is lost, cancel its holder."""
        while not self.lost:
            await asyncio.sleep(every)
            try:
                await self._renew()
            except LedgerUnavailable as error:
                log.warning("lease.not_renewed", space=self._space, why=str(error))
        log.error("lease.lost", space=self._space)
        if holder is not None:
            holder.cancel()

    async def release(self) -> None:
        """Release the lease at once; without the database it expires by itself."""
        statement = delete(LEASES).where(*self._here, LEASES.c.owner == self._owner)
        try:
            await self._database.run(lambda connection: connection.execute(statement))
        except LedgerUnavailable as error:
            log.warning("lease.not_released", space=self._space, why=str(error))

    async def holder(self) -> str | None:
        """Return the current holder of the space, ignoring dead processes of this host."""
        unexpired = LEASES.c.expires >= self._database.now
        statement = select(LEASES.c.owner).where(*self._here, unexpired)
        holder = await self._database.run(lambda connection: connection.scalar(statement))
        return None if holder is None or is_dead(holder) else holder

    async def _renew(self) -> None:
        """Extend the lease if it is still this owner's, expired or not."""
        asked, now = time.monotonic(), self._database.now
        statement = (
            update(LEASES)
            .where(*self._here, LEASES.c.owner == self._owner)
            .values(beat=now, expires=now + self._lasting)
        )
        if await self._database.run(lambda c: c.execute(statement).rowcount == 1):
            self._renewed = asked
        else:
            self.lost = True


def _lease_lost(space: str) -> str:
    return (
        f"The run over space {space!r} was silent for so long that another may work there; it "
        "stopped. What it wrote stays, and the next run goes on."
    )
