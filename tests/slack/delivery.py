"""Whatever is sent again, late, in disorder, or dies: each question is answered, and once.

``python -m tests.slack.delivery [--events 10000] [--seed N] [--forgetful]`` does it at length, and
returns 1 when a promise was broken. ``--forgetful`` hides what look-ups need, so that replies are
doubled: the check can be seen to find them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.store import open_store, sqlite_url
from bot.types import Interaction, Message, Person, Thread
from tests.bot.adapters.slack.server import FakeSlack, Fault
from tests.bot.adapters.slack.server import Post as Posted
from tests.slack.lives import Lives, lives
from tests.slack.script import Asked, Script, Sending

EVENTS_A_SECOND = 60
EVENTS_A_KILL = 300
PATIENCE_SECONDS = 120.0
QUIET_SECONDS = 2.0
RETRY_SECONDS = 3.0
_LOOK_SECONDS = 0.5
TENANT = "default"

FAULTS: Sequence[tuple[Fault | None, int]] = (
    (None, 887),
    (Fault(status=429, error="ratelimited", retry_after="1"), 30),
    (Fault(status=500), 20),
    (Fault(status=500, after=True), 30),
    (Fault(status=0), 10),
    (Fault(status=0, after=True), 20),
    (Fault(status=500, after=True, seconds=16.0), 3),
)
"""What goes wrong with a call, and how often in a thousand; the last is a client's time-out."""

FAULTY = ("chat.postMessage", "conversations.replies", "conversations.history", "chat.delete")


@dataclass
class Post:
    """What became of the sendings; times are the clock's."""

    server: Lives
    sent: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    taken: dict[int, datetime] = field(default_factory=dict)

    async def send(self, sending: Sending, began: float) -> None:
        """Send all copies at their times, and then until one is acknowledged, as Slack does."""
        copies = (self._copy(sending, at, number, began) for number, at in enumerate(sending.times))
        await asyncio.gather(*copies)
        number = len(sending.times)
        while id(sending) not in self.taken:
            await self.server.up.wait()
            await asyncio.sleep(random.random() * RETRY_SECONDS)  # noqa: S311 - no secret
            await self._copy(sending, 0.0, number, began)

    async def _copy(self, sending: Sending, at: float, number: int, began: float) -> None:
        await asyncio.sleep(max(0.0, began + at - asyncio.get_running_loop().time()))
        self.sent += 1
        answer = await self.server.door.event(sending.envelope, attempt=number)
        if answer.status == 200:
            self.taken.setdefault(id(sending), datetime.now(UTC))
        else:
            self.refused[answer.status] += 1


@dataclass(frozen=True)
class Verdict:
    """The questions about which a promise was broken, by promise."""

    lost: list[str]
    twice: list[str]
    not_withdrawn: list[str]
    not_amended: list[str]
    not_forgotten: list[str]
    unfinished: int


async def killed_again_and_again(server: Lives, script: Script) -> None:
    moments = sorted(
        script.draw.uniform(1, script.seconds) for _ in range(len(script.sendings) // EVENTS_A_KILL)
    )
    began = asyncio.get_running_loop().time()
    for moment in moments:
        await asyncio.sleep(max(0.0, began + moment - asyncio.get_running_loop().time()))
        await server.kill()
        await server.begin()


def answers(slack: FakeSlack) -> Mapping[str, Sequence[str]]:
    """Return what stands in the channels for each question, by its mark."""
    found: dict[str, list[str]] = {}
    for post in slack.posts:
        if post.by_bot and not post.only_for:
            mark = post.shown.split("Q", 1)[-1].split()[0]
            found.setdefault(f"Q{mark}", []).append(post.shown)
    return found


def settled(slack: FakeSlack, script: Script) -> bool:
    seen = answers(slack)
    return all((asked.mark in seen) is not asked.deleted for asked in script.asked)


async def recorded(data_dir: Path, script: Script) -> tuple[dict[str, Interaction], int]:
    """Return what the record keeps of each question, and how much work is left."""
    store = await open_store(sqlite_url(data_dir))
    try:
        kept = {}
        for asked in script.asked:
            place = Thread("slack", TENANT, asked.channel, asked.thread)
            named = Message(asked.ts, place, Person(""), "", datetime.now(UTC)).interaction_id
            if (found := await store.work.get(named)) is not None:
                kept[asked.mark] = found
        return kept, len(await store.work.unfinished())
    finally:
        await store.close()


def judged(
    slack: FakeSlack, script: Script, post: Post, kept: Mapping[str, Interaction], unfinished: int
) -> Verdict:
    seen = answers(slack)
    edits = {
        sending.asked.mark: post.taken[id(sending)] for sending in script.sendings if sending.edits
    }

    def amended(asked: Asked) -> bool:
        """An edit that was acknowledged before there was an answer must be what is answered."""
        answered = kept[asked.mark].finished_at
        assert answered is not None
        in_time = edits[asked.mark] < answered
        return not in_time or "second" in "".join(seen.get(asked.mark, ["second"]))

    stay = [asked for asked in script.asked if not asked.deleted]
    gone = [asked for asked in script.asked if asked.deleted]
    return Verdict(
        lost=[asked.mark for asked in stay if asked.mark not in seen],
        twice=[mark for mark, shown in seen.items() if len(shown) > 1],
        not_withdrawn=[asked.mark for asked in gone if asked.mark in seen],
        not_amended=[asked.mark for asked in stay if asked.edited and not amended(asked)],
        not_forgotten=[asked.mark for asked in gone if kept[asked.mark].message.text],
        unfinished=unfinished,
    )


@dataclass(frozen=True)
class Run:
    """One run: its verdict, and how much happened."""

    verdict: Verdict
    events: int
    questions: int
    deliveries: int
    refused: int
    deaths: int
    answered_as_edited: int
    seconds: float


async def delivered(events: int, seed: int, folder: Path) -> Run:
    """Let so many events happen, be sent up to four times each, and the server die meanwhile."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    loop = asyncio.get_running_loop()
    async with FakeSlack().serving() as slack:
        script = Script(slack, draw, seconds=events / EVENTS_A_SECOND)
        await script.write(events)
        for method in FAULTY:
            kinds, weights = zip(*FAULTS, strict=True)
            slack.fail(method, *draw.choices(kinds, weights, k=events))
        async with lives(folder, slack.url) as server:
            post, began = Post(server), loop.time()
            async with asyncio.TaskGroup() as group:
                group.create_task(killed_again_and_again(server, script))
                for sending in script.sendings:
                    group.create_task(post.send(sending, began))
            await _settled(slack, script)
            seconds = loop.time() - began
            await server.kill()
            await server.begin()
            await asyncio.sleep(QUIET_SECONDS)
            deaths = server.deaths
        verdict = judged(slack, script, post, *await recorded(folder, script))
        second = sum("second" in "".join(shown) for shown in answers(slack).values())
    return Run(
        verdict,
        events=len(script.sendings),
        questions=len(script.asked),
        deliveries=post.sent,
        refused=post.refused.total(),
        deaths=deaths,
        answered_as_edited=second,
        seconds=seconds,
    )


async def _settled(slack: FakeSlack, script: Script) -> None:
    """Wait until all is as it should be, or for so long that it never will."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not settled(slack, script):  # noqa: ASYNC110 - it happens in another process
                await asyncio.sleep(_LOOK_SECONDS)


KEPT = Verdict([], [], [], [], [], 0)
"""What is to come of every run."""


def _forget() -> None:
    """Have this Slack show no metadata."""
    told = Posted.told

    def without(post: Posted, *, with_metadata: bool = False) -> dict[str, object]:
        del with_metadata
        return told(post)

    setattr(Posted, "told", without)  # noqa: B010 - this process is for nothing else


def main(arguments: Sequence[str]) -> int:
    """Return 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.slack.delivery", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forgetful", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.forgetful:
        _forget()
    with TemporaryDirectory() as folder:
        run = asyncio.run(delivered(chosen.events, chosen.seed, Path(folder)))
    sys.stdout.write(f"seed {chosen.seed}: {run}\n")
    return int(run.verdict != KEPT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
