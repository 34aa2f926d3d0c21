"""Measure for how long removed pages are found: ``python -m tests.sweeps.syncing.removal_delay``.

The schedule looks at everything each minute, the least that can be set. A question that found a
page is asked again and again, from the moment on when the page was deleted or restricted.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import aiohttp

from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.sweeps.chaos.questions import TOPICS, Topic
from tests.sweeps.faults.server import Client, Server
from tests.sweeps.syncing.follower import settings_for

INTERVAL_SECONDS = 60.0
BEYOND_SECONDS = 60.0
_BETWEEN_SECONDS = 0.5
_NEVER_SECONDS = 10 * INTERVAL_SECONDS


@dataclass
class Watched:
    """A server that follows a wiki of one page a topic, and somebody who asks it."""

    site: Site
    served: Server
    client: Client
    pages: Mapping[str, str]
    asked: count[int] = field(default_factory=count)

    async def surfaces(self, topic: Topic) -> bool:
        """Ask what a topic's page answers; say whether anything of it comes back."""
        key = f"forgetting-{next(self.asked)}"
        status, body = await self.client.ask(self.served.url, topic.question, key)
        assert status == 200, (status, body)
        told = json.dumps(body)
        return topic.mark in told or self.pages[topic.title] in told

    async def forgets(self, topic: Topic) -> float:
        """Return the seconds until nothing of a topic comes back, three times in a row."""
        began = time.monotonic()
        gone_at, quiet = began, 0
        while quiet < 3:
            if await self.surfaces(topic):
                quiet, gone_at = 0, time.monotonic()
                assert gone_at - began < _NEVER_SECONDS, "never forgotten"
            else:
                quiet += 1
            await asyncio.sleep(_BETWEEN_SECONDS)
        return gone_at - began

    async def knows(self, *topics: Topic) -> None:
        """Wait until all topics have been read."""
        async with asyncio.timeout(_NEVER_SECONDS):
            for topic in topics:
                await self._knows(topic)

    async def _knows(self, topic: Topic) -> None:
        while True:
            if await self.surfaces(topic):
                return
            await asyncio.sleep(_BETWEEN_SECONDS)

    def close(self, topic: Topic) -> None:
        self.site.restrict(self.pages[topic.title], users=[ADMIN])

    def delete(self, topic: Topic) -> None:
        self.site.trash(self.pages[topic.title])

    def close_above(self, topic: Topic) -> None:
        """Restrict what a page hangs under."""
        above = self.site.create("IT", f"Above {topic.title}").id
        self.site.move(self.pages[topic.title], above)
        self.site.restrict(above, users=[ADMIN])


@asynccontextmanager
async def watched(data_dir: Path, *, last_check: bool) -> AsyncIterator[Watched]:
    """Serve a wiki, and Frontdesk over it, until the block ends."""
    site = Site(now=datetime.now(UTC).replace(microsecond=0))
    site.add_space("IT", anonymous=True)
    pages = {t.title: site.create("IT", t.title, f"<p>{t.fact}</p>").id for t in TOPICS}
    async with LocalConfluence(site).serving() as wiki, aiohttp.ClientSession() as session:
        settings = {
            **settings_for(wiki, data_dir),
            "CONFLUENCE_SYNC_MINUTES": "1",
            "CONFLUENCE_RECONCILE_MINUTES": "1",
            "CONFLUENCE_LAST_CHECK": str(last_check).lower(),
        }
        served = Server(data_dir, settings)
        try:
            await served.start()
            yield Watched(site, served, Client(session), pages)
        finally:
            await served.kill()


async def measure(data_dir: Path, *, last_check: bool) -> dict[str, float]:
    """Return the seconds until a server forgot, by what was done."""
    async with watched(data_dir, last_check=last_check) as all_of:
        ways: dict[str, Callable[[Topic], None]] = {
            "deleted": all_of.delete,
            "restricted": all_of.close,
            "restricted above": all_of.close_above,
        }
        await all_of.knows(*TOPICS[: len(ways)])
        for topic, change in zip(TOPICS, ways.values(), strict=False):
            change(topic)
        topics = TOPICS[: len(ways)]
        found = await asyncio.gather(*(all_of.forgets(topic) for topic in topics))
    return dict(zip(ways, found, strict=True))


def main() -> int:
    """Print the times; 1 when they are longer than promised."""
    failed = 0
    for last_check, most in ((False, INTERVAL_SECONDS + BEYOND_SECONDS), (True, 0.0)):
        with tempfile.TemporaryDirectory() as directory:
            found = asyncio.run(measure(Path(directory), last_check=last_check))
        said = "with the last check" if last_check else "by the schedule, each minute"
        times = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in found.items())
        held = max(found.values()) <= most
        failed |= not held
        print(f"{said}: {times}; at most {most:.0f} s: {'held' if held else 'MISSED'}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
