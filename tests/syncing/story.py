"""A story: things happen in a wiki, passes go over it, some of them badly; then all is compared."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ingestion.errors import DocumentUnknown
from ingestion.records.types import Run
from ingestion.types import Extent
from tests.confluence.call import Blindness
from tests.confluence.faults import ANY, too_many, unavailable
from tests.syncing.asking import Tally, ask
from tests.syncing.follower import Follower
from tests.syncing.sameness import differences, held, held_afresh
from tests.syncing.world import SPACES, World

BLINDNESS: tuple[Blindness, ...] = (403, 404, "empty")
EXPANSIONS = (
    "restrictions.read.restrictions.user",
    "restrictions.read.restrictions.group",
    "metadata.labels",
)


@dataclass
class Story:
    """One telling, by the chance of its world.

    ``log`` says what happened, for who looks for the cause; ``passes`` counts them by kind.
    """

    world: World
    follower: Follower
    tally: Tally = field(default_factory=Tally)
    log: list[str] = field(default_factory=list)
    passes: Counter[str] = field(default_factory=Counter)

    async def tell(self, *, events: int, queries: int, kills: bool = True) -> None:
        """Let so much happen, with passes and questions in between."""
        await self._whole()
        left, asked = events, 0
        while left > 0:
            for _ in range(min(left, self.world.random.randint(1, 9))):
                self.log.append(self.world.happens())
                left -= 1
            await self._pass(kills=kills)
            share = (events - left) / events
            await ask(self.world, self.follower, self.tally, round(share * queries) - asked)
            asked = round(share * queries)
            assert self.tally.leaks == [], self._so_far()

    async def ends_well(self, at: Path) -> None:
        """Bring all up to date once more, and compare with a first sync into an empty index."""
        self._mend()
        await self._whole()
        self.tally.stale = 0
        await ask(self.world, self.follower, self.tally, 200)
        assert (self.tally.leaks, self.tally.stale) == ([], 0), self._so_far()
        mine = await held(self.follower.index, SPACES)
        fresh = await held_afresh(self.follower, SPACES, at)
        unlike = differences(mine, fresh)
        assert unlike == [], "\n".join([*unlike, self._so_far()])

    async def _pass(self, *, kills: bool) -> None:
        ways: list[tuple[Callable[[], object], int]] = [
            (self._changes, 10),
            (self._whole, 5),
            (self._page, 3),
            (self._meanwhile, 3),
            (self._blind, 2),
            (self._storm, 2),
            (self._broken, 2),
            (self._unread, 2),
            (self._cancelled, 2),
            (self._killed, 2 if kills else 0),
        ]
        choices, weights = zip(*ways, strict=True)
        (way,) = self.world.random.choices(choices, weights)
        self.passes[way.__name__.strip("_")] += 1
        self.log.append(f"-- {way.__name__.strip('_')}")
        before = await self._there()
        await way()
        self._mend()
        await self._nothing_lost(before)

    async def _changes(self) -> None:
        await self._run("changes")

    async def _whole(self) -> None:
        """Look at everything until that goes well, as a schedule does."""
        for _ in range(3):
            if (await self._run("all")).state == "done":
                return
        raise AssertionError(self._so_far())

    async def _page(self) -> None:
        try:
            await self._run("page", page=self.world.page().id)
        except DocumentUnknown:
            self.log.append("   which is of no space")

    async def _meanwhile(self) -> None:
        """Look at everything while things happen."""
        for _ in range(self.world.random.randint(1, 4)):
            self._at(40, lambda: self.log.append(f"   meanwhile {self.world.happens()}"))
        await self._run("all")

    async def _blind(self) -> None:
        """Let the token lose sight of one space or all, before a pass or in its midst."""
        random = self.world.random
        space, how = random.choice([None, *SPACES]), random.choice(BLINDNESS)
        after = random.choice((0, random.randint(1, 60)))
        self.world.server.faults.go_blind(space, how=how, after=after)
        self.log.append(f"   to {space} by {how} after {after}")
        await self._run(random.choice(("all", "changes")), meant=False)

    async def _storm(self) -> None:
        """Refuse many requests for their number, or for nothing."""
        random = self.world.random
        for _ in range(random.randint(1, 5)):
            fault = random.choice((too_many("0"), too_many(), unavailable()))
            self._at(40, partial(self.world.server.faults.fail, ANY, *([fault] * 6)))
        await self._run(random.choice(("all", "changes")))

    async def _broken(self) -> None:
        """Let one part of an answer fail, for one page or all."""
        random = self.world.random
        pages = random.choice(([], [self.world.page().id]))
        self.world.server.faults.break_expansion(random.choice(EXPANSIONS), *pages)
        await self._run(random.choice(("all", "changes")))

    async def _unread(self) -> None:
        """Let the text of many pages not be read, whatever is known of them."""
        times = self.world.random.randint(6, 60)
        self.world.server.faults.fail("page", *([unavailable()] * times))
        await self._run(self.world.random.choice(("all", "changes")))

    async def _cancelled(self) -> None:
        run = await self._begin("all")
        stop = [asyncio.Event()]
        self._at(40, stop[0].set)
        watching = asyncio.create_task(self._cancel_on(stop[0], run))
        await self._ended(run, began=None)
        watching.cancel()

    async def _cancel_on(self, stop: asyncio.Event, run: str) -> None:
        await stop.wait()
        await self.follower.cancel(run)

    async def _killed(self) -> None:
        """Kill the process of a pass in its midst, as with -9."""
        self.follower.apart = True
        try:
            self._at(60, _kill_workers)
            run = await self._run("all")
            self.log.append(f"   {run.state}")
        finally:
            self.follower.apart = False

    def _at(self, within: int, effect: Callable[[], object]) -> None:
        """Let something happen at one of the next requests."""
        self.world.server.faults.on(ANY, self.world.random.randint(1, within), effect)

    async def _run(self, extent: Extent, *, page: str = "", meant: bool = True) -> Run:
        """Run to the end; what is ``meant`` to go is let go by a person's word."""
        began = self.world.moments.now if extent == "all" else None
        run = await self._ended(await self._begin(extent, page=page), began)
        if meant and any(why.mass_delete for why in run.failures):
            self.log.append("   let go")
            began = self.world.moments.now
            return await self._ended(await self._begin("all", allow=True), began)
        return run

    async def _begin(self, extent: Extent, *, page: str = "", allow: bool = False) -> str:
        return await self.follower.start(None, extent, page=page, allow=allow)

    async def _ended(self, run_id: str, began: int | None) -> Run:
        run = await self.follower.ended(run_id)
        self.log += [f"   {why.space} {why.page}: {why.reason}" for why in run.failures]
        for report in self.follower.reports:
            if began is not None and report.within is None:
                self.world.moments.looked(report.space, began)
        return run

    def _mend(self) -> None:
        self.world.server.faults.clear()

    async def _there(self) -> set[tuple[str, str]]:
        """Return the pages that are indexed and are where they are in the index."""
        indexed = await held(self.follower.index, SPACES)
        return {each for each in indexed if self._exists(*each)}

    async def _nothing_lost(self, before: set[tuple[str, str]]) -> None:
        after = await self._there()
        lost = {each for each in before - after if self._exists(*each)}
        assert lost == set(), (lost, self._so_far())

    def _exists(self, space: str, page: str) -> bool:
        content = self.world.site.contents.get(page.partition("/")[0])
        if content is None or not self.world.site.is_current(content):
            return False
        file = page.partition("/")[2]
        return content.space == space and (not file or file in content.attachments)

    def _so_far(self) -> str:
        return "\n".join([*self.tally.leaks[:5], *self.log[-60:]])


def _kill_workers() -> None:
    """End the processes that this one started to read documents."""
    for process in _children():
        if b"ingestion.runs.worker" in Path(f"/proc/{process}/cmdline").read_bytes():
            os.kill(process, signal.SIGKILL)


def _children() -> list[int]:
    told = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(each) for each in told.split()]
