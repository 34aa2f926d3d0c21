"""Server processes that are killed, come back or are replaced, and when that happened."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.conftest import environment
from tests.fork_server import Programme, Running, started


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that happened, ``at`` seconds after the beginning; a fault or its consequence."""

    at: float
    what: str
    fault: bool


@dataclass(slots=True)
class Timeline:
    """Begins when it is made; entries come in order."""

    entries: list[Entry] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self._began

    def note(self, what: str, *, fault: bool = False) -> None:
        """Add what has just happened."""
        self.entries.append(Entry(self.now(), what, fault))

    @property
    def last_fault(self) -> float | None:
        """When the last fault came, None when there was none."""
        return max((entry.at for entry in self.entries if entry.fault), default=None)

    def lines(self) -> list[str]:
        """Return it for reading."""
        return [
            f"{entry.at:8.2f}  {'!' if entry.fault else ' '} {entry.what}" for entry in self.entries
        ]


SERVING = re.compile(r"Serving (http://\S+) ")
START_SECONDS = 180.0
SUPERVISOR_SECONDS = 1.0


@dataclass(slots=True)
class Replica:
    """One server: its data directory stays when it is killed and started again.

    ``url`` is where it was last; nobody is told that it is dead. ``role`` is its FRONTDESK_ROLE.
    """

    name: str
    data_dir: Path
    role: str = "all"
    url: str = ""
    doomed: bool = False
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    running: Running | None = None
    watching: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        return self.running is not None and self.running.returncode is None


class ServerProcesses:
    """Starts and ends servers, all with the same settings and a copy of the same index.

    Args:
        folder: Data directories and logs go here.
        prepared: A data directory in which the index is already.
        settings: Environment variables that the servers are given.
        timeline: Is told what happens.
        plain: Each is an interpreter of its own, otherwise a fork.
    """

    def __init__(
        self,
        folder: Path,
        prepared: Path,
        settings: Mapping[str, str],
        timeline: Timeline,
        *,
        plain: bool,
    ) -> None:
        self._folder = folder
        self._prepared = prepared
        self._settings = settings
        self._timeline = timeline
        self._plain = plain
        self._named = 0
        self.replicas: list[Replica] = []
        self.some_up = asyncio.Event()
        self.ended_by_themselves: list[str] = []

    def addresses(self, *, ready: bool = False) -> list[str]:
        """Return where events are taken, or were before the servers were killed."""
        return [
            each.url
            for each in self.replicas
            if each.url and each.role != "work" and (each.ready.is_set() or not ready)
        ]

    async def add(self, role: str = "all") -> Replica:
        """Start one more server, with a data directory of its own."""
        self._named += 1
        name = f"server-{self._named}"
        data_dir = self._folder / name
        await asyncio.to_thread(shutil.copytree, self._prepared, data_dir)
        replica = Replica(name, data_dir, role)
        self.replicas.append(replica)
        await self.start(replica)
        return replica

    async def start(self, replica: Replica) -> None:
        """Start a server that does not run; it is not waited for."""
        replica.doomed = False
        settings = {**self._settings, "FRONTDESK_ROLE": replica.role}
        with self._log(replica).open("ab") as log:
            programme = Programme(("bot", "serve"), environment(replica.data_dir, **settings))
            replica.running = await started(programme, stderr=log, plain=self._plain)
        self._timeline.note(f"{replica.name} started")
        replica.watching = asyncio.create_task(self._watch(replica, replica.running))

    async def all_ready(self) -> None:
        """Wait until every server takes questions. Raises TimeoutError."""
        async with asyncio.timeout(START_SECONDS):
            await asyncio.gather(*(replica.ready.wait() for replica in self.replicas))

    async def kill(self, replica: Replica) -> None:
        """End a server at once, in the middle of whatever it does."""
        state = "" if replica.ready.is_set() else " while it started"
        replica.doomed = True
        if replica.running is not None:
            replica.running.kill()
            self._timeline.note(f"{replica.name} killed{state}", fault=True)
            await replica.running.wait()
        if replica.watching is not None:
            await replica.watching

    def remove(self, replica: Replica) -> None:
        """Forget a server that never comes back; events are no longer sent to it."""
        self.replicas.remove(replica)
        self._timeline.note(f"{replica.name} is gone for good")

    async def end(self) -> None:
        """End all servers, whatever state they are in."""
        for replica in self.replicas:
            replica.doomed = True
            if replica.running is not None and replica.alive:
                replica.running.kill()
                await replica.running.wait()
            if replica.watching is not None:
                await replica.watching

    async def _watch(self, replica: Replica, running: Running) -> None:
        """Learn where a server listens; note when it ends without having been killed."""
        with self._log(replica).open("ab") as log:
            async for line in running.stdout:
                log.write(line)
                log.flush()
                if found := SERVING.search(line.decode()):
                    replica.url = found.group(1)
                    replica.ready.set()
                    self._refresh()
                    self._timeline.note(f"{replica.name} takes questions")
        await running.wait()
        replica.ready.clear()
        self._refresh()
        if not replica.doomed:
            said = f"{replica.name} ended by itself with code {running.returncode}"
            self.ended_by_themselves.append(said)
            self._timeline.note(said, fault=True)
            await self._supervise(replica)

    async def _supervise(self, replica: Replica) -> None:
        """Start a server again that ended by itself, as every way of running one does."""
        await asyncio.sleep(SUPERVISOR_SECONDS)
        if not replica.doomed:
            await self.start(replica)

    def _refresh(self) -> None:
        if any(each.ready.is_set() for each in self.replicas if each.role != "work"):
            self.some_up.set()
        else:
            self.some_up.clear()

    def _log(self, replica: Replica) -> Path:
        return self._folder / f"{replica.name}.log"
