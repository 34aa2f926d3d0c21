"""How long what a killed server had begun waits until it is begun again, or answered.

Read from the record and the engine's state beside it: nobody who asks can tell a question that was
begun from one that waits for its turn. The answers themselves are judged by what askers see.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, String, bindparam, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from tests.sweeps.chaos.server_processes import Timeline

AIM_SECONDS = 10.0

_LOOK_SECONDS = 0.1
_PATIENCE_SECONDS = 120.0
_UNFINISHED = (
    "(kept.status IN ('working', 'cancelling') OR (kept.status = 'done' AND posted_id IS NULL))"
)
_TIMES = f"""
    SELECT kept.id AS id, count(*) AS times FROM interactions AS kept
    JOIN frontdesk_engine.workflow_status AS work ON substr(work.workflow_uuid, 1, 36) = kept.id
    WHERE {_UNFINISHED} AND (%s) GROUP BY kept.id
"""  # noqa: S608 - no words of others
_BEGUN = text(
    _TIMES
    % """kept.owner = :executor OR (kept.owner IS NULL AND kept.id IN (
    SELECT substr(workflow_uuid, 1, 36) FROM frontdesk_engine.workflow_status
    WHERE status = 'PENDING' AND executor_id = :executor))"""
)
"""Also what it has claimed of another killed one's and not begun again yet. A withdrawal is begun
before it is claimed."""
_STILL = text(_TIMES % "kept.id IN :ids").bindparams(bindparam("ids", type_=String, expanding=True))
_TOLD = text(
    "SELECT kept.id, kept.owner, kept.epoch, kept.status, work.workflow_uuid, "
    "work.status AS work, work.executor_id, work.queue_name "
    "FROM interactions AS kept LEFT JOIN frontdesk_engine.workflow_status AS work "
    "ON substr(work.workflow_uuid, 1, 36) = kept.id WHERE kept.id IN :ids"
).bindparams(bindparam("ids", type_=String, expanding=True))
_MOST_TOLD = 10
_EXECUTORS = text("SELECT id FROM replicas")

Begun = Mapping[str, int]
"""Interactions under way, by id: how often work on each was begun, under another name each time."""


class BegunWork:
    """Reads which work is under way in the record at an address of SQLAlchemy's.

    ``engine_file`` is the engine's state where it is a file of its own.
    """

    def __init__(self, url: str, engine_file: Path | None = None) -> None:
        self._engine = create_engine(url, isolation_level="AUTOCOMMIT")
        if engine_file is None:
            return

        def attach(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
            cursor = connection.cursor()
            cursor.execute("ATTACH DATABASE ? AS frontdesk_engine", (str(engine_file),))
            cursor.close()

        event.listen(self._engine, "connect", attach)

    def executors(self) -> frozenset[str]:
        """Return the names of the processes that answer or have answered lately."""
        with self._connection() as connection:
            return frozenset(connection.scalars(_EXECUTORS))

    def begun_by(self, executor: str) -> Begun:
        """Return what a process had begun and is neither answered nor taken over."""
        with self._connection() as connection:
            found = connection.execute(_BEGUN, {"executor": executor})
            return {each.id: each.times for each in found}

    def untouched(self, begun: Begun) -> Begun:
        """Return those that nobody has begun again or finished."""
        with self._connection() as connection:
            found = connection.execute(_STILL, {"ids": list(begun)})
            return {each.id: each.times for each in found if each.times == begun[each.id]}

    def told_of(self, ids: Collection[str]) -> list[str]:
        """Return what record and engine say of some, a line each, to understand a delay."""
        with self._connection() as connection:
            found = connection.execute(_TOLD, {"ids": list(ids)[:_MOST_TOLD]})
            return [str(dict(each._mapping)) for each in found]  # noqa: SLF001 - SQLAlchemy's own name for it

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            yield connection


@dataclass(slots=True)
class Takeover:
    """What a killed server had begun, and when each was begun again or answered, by the timeline.

    ``since``: from when on is counted. It is the kill where others go on, and else the moment when
    the same server is ready again. ``left`` is what nobody has taken over yet.
    """

    since: float
    left: dict[str, int] = field(default_factory=dict)
    taken_at: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> list[float]:
        """Return how long each waited; what was resumed before the server was ready did not."""
        never = [math.inf] * len(self.left)
        return [max(0.0, at - self.since) for at in self.taken_at] + never

    def leave(self, begun: Begun, at: float) -> None:
        """Follow these no longer: who had just begun them again is killed as well.

        Those that are late already count as late.
        """
        if at > self.since + AIM_SECONDS:
            self.taken_at += [at for each in self.left if each in begun]
        self.left = {each: times for each, times in self.left.items() if each not in begun}

    def note(self, untouched: Begun, at: float) -> None:
        """Note that all but these were taken over by now."""
        still = {each: times for each, times in self.left.items() if each in untouched}
        self.taken_at += [at] * (len(self.left) - len(still))
        self.left = still


async def follow(work: BegunWork, timeline: Timeline, takeover: Takeover) -> None:
    """Note when each is taken over, until all are or none is any more; and which are late."""
    killed_at, begun, told = takeover.since, len(takeover.left), False
    while takeover.left and timeline.now() < killed_at + _PATIENCE_SECONDS:
        await asyncio.sleep(_LOOK_SECONDS)
        takeover.note(await asyncio.to_thread(work.untouched, takeover.left), timeline.now())
        if takeover.left and not told and timeline.now() > takeover.since + AIM_SECONDS:
            told = True
            for line in await asyncio.to_thread(work.told_of, takeover.left):
                timeline.note(f"late: {line}")
    taken, seconds = len(takeover.taken_at), timeline.now() - killed_at
    timeline.note(f"{taken} of {begun} taken over {seconds:.1f} s after the kill")
