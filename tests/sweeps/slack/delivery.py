"""Send thousands of events often, late and in disorder to a server that dies; count the answers.

``python -m tests.sweeps.slack.delivery [--events 10000] [--seed N] [--forgetful]`` does it at
length, and returns 1 when a promise was broken. ``--forgetful`` hides what look-ups need, so that
replies are doubled: the check can be seen to find them.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fakes.slack.events import WebDoor
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.posts import Post as Posted
from tests.fakes.slack.server import FakeSlack
from tests.sweeps.delivery import (
    NOTHING_BROKEN,
    EventSender,
    RestartableServer,
    Run,
    ScheduledEvent,
    SendEvent,
    Size,
    chosen,
    restartable_server,
    run_of,
    send_through_kills,
)
from tests.sweeps.slack.scenarios import Script, serve_until_killed

EVENTS_A_SECOND = 60
EVENTS_A_KILL = 300

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


def answers(slack: FakeSlack) -> Mapping[str, Sequence[str]]:
    """Return what stands in the channels for each question, by its mark."""
    found: dict[str, list[str]] = {}
    for post in slack.posts:
        if post.by_bot and not post.only_for:
            mark = post.shown.split("Q", 1)[-1].split()[0]
            found.setdefault(f"Q{mark}", []).append(post.shown)
    return found


async def run_delivery(size: Size, seed: int, folder: Path) -> Run:
    """Let so many events happen, be sent up to four times each, and the server die meanwhile."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    async with FakeSlack().serving() as slack:
        script = Script(slack, draw, seconds=size.events / EVENTS_A_SECOND)
        await script.write(size.events)
        for method in FAULTY:
            kinds, weights = zip(*FAULTS, strict=True)
            slack.fail(method, *draw.choices(kinds, weights, k=size.events))
        seen = partial(answers, slack)
        async with restartable_server(serve_until_killed, folder, slack.url) as server:
            post = EventSender(server, _at_door(server), size.retry_seconds)
            seconds = await send_through_kills(script, post, seen, kills=size.kills, draw=draw)
            deaths = server.deaths
    run = await run_of(script, post, seen(), folder=folder, platform="slack")
    return replace(run, deaths=deaths, seconds=seconds)


def _at_door(server: RestartableServer) -> SendEvent:
    door = WebDoor(server.session)

    async def knock(sending: ScheduledEvent, attempt: int) -> int:
        return (await door.event(dict(sending.event), attempt=attempt)).status

    return knock


def _forget() -> None:
    """Have this Slack show no metadata."""
    told = Posted.told

    def without(post: Posted, *, with_metadata: bool = False) -> dict[str, object]:
        del with_metadata
        return told(post)

    setattr(Posted, "told", without)  # noqa: B010 - this process is for nothing else


def main() -> int:
    """Return 1 when a promise was broken."""
    options = chosen("tests.sweeps.slack.delivery", __doc__, events=10_000)
    if options.forgetful:
        _forget()
    with TemporaryDirectory() as folder:
        size = Size(options.events, options.events // EVENTS_A_KILL)
        run = asyncio.run(run_delivery(size, options.seed, Path(folder)))
    sys.stdout.write(f"seed {options.seed}: {run}\n")
    return int(run.verdict != NOTHING_BROKEN)


if __name__ == "__main__":
    sys.exit(main())
