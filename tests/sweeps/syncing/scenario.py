"""A random run: changes in a wiki, passes over it with faults, then a comparison of all.

Questions of people to the index are held against what they might read; an index that followed
the changes is compared with one that is made afresh. For long runs:
``python -m tests.sweeps.syncing.scenario --events 1000 --queries 10000 --seed N``.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

import structlog

from ingestion.errors import DocumentUnknown
from ingestion.records.types import Run
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import sync
from ingestion.types import Extent
from rag.index.embedded.index import fingerprint_of, open_index
from rag.ports import SearchIndex
from rag.types import EVERYONE, Chunk, Page, Principal, Question, Readers
from tests.fakes.confluence.faults import ANY, too_many, unavailable
from tests.fakes.confluence.generator import title_of
from tests.fakes.confluence.requests import Blindness, Edition
from tests.sweeps.syncing.changing_wiki import MARK, SPACES, Asker, ChangingWiki, served
from tests.sweeps.syncing.follower import TENANT, Follower, following

K = 10


@dataclass
class Tally:
    """What was asked and shown. ``stale``: rightly by the last look, no longer by now."""

    queries: int = 0
    shown: int = 0
    stale: int = 0
    leaks: list[str] = field(default_factory=list)


async def ask(world: ChangingWiki, follower: Follower, tally: Tally, times: int) -> None:
    """Let people ask so often; what nobody should have been shown is among ``leaks``."""
    for _ in range(times):
        who = world.asker()
        names = await principals_of(follower, who)
        for chunk in await _found(world, follower, names):
            tally.shown += 1
            if not _right(world, who, chunk):
                tally.leaks.append(_told(who, chunk, "no longer by the last look"))
            if any(not world.moments.told(who, *mark) for mark in _marks(chunk)):
                tally.leaks.append(_told(who, chunk, "never"))
            if not world.site.may_read(who.handle, chunk.page_id, who.everyone):
                tally.stale += 1
        tally.queries += 1


async def principals_of(follower: Follower, who: Asker) -> frozenset[Principal]:
    """Return what the directory says that somebody is, looked up anew."""
    if who.handle is None:
        return frozenset({EVERYONE})
    found = await follower.people.find(who.site.people[who.handle].email)
    return frozenset({EVERYONE}) | (found or frozenset())


async def _found(
    world: ChangingWiki, follower: Follower, names: frozenset[Principal]
) -> Iterable[Chunk]:
    """Ask for a page by its own words, or for anything; half of the time by vectors, too."""
    page, text = world.page(), title_of(world.random)
    if world.random.random() < 0.3:
        return await follower.index.page(TENANT, page.space, page.id, names)
    if world.random.random() < 0.7:
        text = f"{page.title} qx{page.id}v{page.version}qx"
    by_vector = world.random.random() < 0.5
    vector = await follower.embedder.embed_query(text) if by_vector else None
    found = await follower.index.search(Question(text, TENANT, vector), names, K)
    return [passage.chunk for passage in found]


def _right(world: ChangingWiki, who: Asker, chunk: Chunk) -> bool:
    return world.moments.due(who, chunk.space, chunk.page_id.partition("/")[0])


def _marks(chunk: Chunk) -> Iterable[tuple[str, int]]:
    return {(page, int(version)) for page, version in MARK.findall(chunk.text)}


def _told(who: Asker, chunk: Chunk, when: str) -> str:
    marks = sorted(_marks(chunk))
    return f"{who.handle} was shown {chunk.page_id} of {chunk.space} ({marks}), allowed {when}"


_LINK = re.compile(r" \(https?://[^)\s]*\)")


@dataclass(frozen=True)
class Held:
    """A page and its chunks; without chunks where nobody may read them."""

    page: Page
    chunks: tuple[Chunk, ...]


async def held(index: SearchIndex, spaces: Sequence[str]) -> dict[tuple[str, str], Held]:
    """Return all that an index holds, by space and page."""
    found = {}
    for space in spaces:
        for page in (await index.pages(TENANT, space)).values():
            chunks = await index.page(TENANT, space, page.id, _some_of(page.readers))
            found[space, page.id] = Held(page, tuple(map(_without_links, chunks)))
    return found


async def held_afresh(
    follower: Follower, spaces: Sequence[str], at: Path
) -> dict[tuple[str, str], Held]:
    """Return what a first sync into an empty index of its own gives."""
    index = await open_index(at, fingerprint_of(follower.embedder))
    try:
        for space in spaces:
            source = await follower.sources.source(space)
            report = await sync(
                source, index, follower.embedder, tenant=TENANT, progress=NoProgress()
            )
            assert report.failed == ()
        return await held(index, spaces)
    finally:
        await index.close()


def _without_links(chunk: Chunk) -> Chunk:
    return replace(chunk, text=_LINK.sub("", chunk.text))


def _some_of(readers: Readers) -> frozenset[Principal]:
    return frozenset[Principal]().union(*readers)


def differences(mine: dict[tuple[str, str], Held], fresh: dict[tuple[str, str], Held]) -> list[str]:
    """Say what differs, page by page."""
    found = [f"{key} is only indexed" for key in sorted(mine.keys() - fresh.keys())]
    found += [f"{key} is not indexed" for key in sorted(fresh.keys() - mine.keys())]
    for key in sorted(mine.keys() & fresh.keys()):
        if mine[key] != fresh[key]:
            found += [f"{key}:", *_unlike(mine[key], fresh[key])]
    return found


def _unlike(mine: Held, fresh: Held) -> list[str]:
    told = [] if mine.page == fresh.page else [f"  {mine.page}", f"  {fresh.page}"]
    for one, other in zip_longest(mine.chunks, fresh.chunks):
        if one != other:
            told += [f"  {one}", f"  {other}"]
    return told


BLINDNESS: tuple[Blindness, ...] = (403, 404, "empty")
EXPANSIONS = (
    "restrictions.read.restrictions.user",
    "restrictions.read.restrictions.group",
    "metadata.labels",
)


@dataclass
class Scenario:
    """One telling, by the chance of its world.

    ``log`` says what happened, for who looks for the cause; ``passes`` counts them by kind.
    """

    world: ChangingWiki
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


async def tell(seed: int, options: argparse.Namespace, directory: Path) -> None:
    """Tell one story and print what came of it. Raises AssertionError."""
    began = time.monotonic()
    edition: Edition = options.edition
    async with served(seed=seed, edition=edition, pages=options.pages) as world:
        more = {"CONFLUENCE_EVERYONE_GROUPS": ",".join(world.everyone)}
        async with following(world.server, directory, **more) as follower:
            story = Scenario(world, follower)
            await story.tell(events=options.events, queries=options.queries)
            stale = story.tally.stale
            await story.ends_well(directory / "fresh.sqlite")
    passes = ", ".join(f"{name} {times}" for name, times in sorted(story.passes.items()))
    print(f"seed {seed}, {edition}: {options.events} events, passes: {passes}")
    print(
        f"  {story.tally.queries} queries showed {story.tally.shown} passages: "
        f"{len(story.tally.leaks)} leaks; {stale} were as of the last look, between two"
    )
    print(f"  equal to a first sync; {time.monotonic() - began:.0f} s", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell stories from seed on; 1 when one ended badly."""
    parser = argparse.ArgumentParser(prog="python -m tests.sweeps.syncing.scenario")
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stories", type=int, default=1, help="so many seeds, one after the other")
    parser.add_argument("--edition", choices=("cloud", "data-center"), default="cloud")
    options = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    failed = 0
    for seed in range(options.seed, options.seed + options.stories):
        with tempfile.TemporaryDirectory() as directory:
            try:
                asyncio.run(tell(seed, options, Path(directory)))
            except AssertionError as error:
                print(f"seed {seed} ended badly: {error}", flush=True)
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
