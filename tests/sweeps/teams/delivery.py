"""Send activities often, late and in disorder to a server that dies; each is answered once.

``python -m tests.sweeps.teams.delivery [--events 3000] [--seed N] [--forgetful]`` does it at
length, and returns 1 when a promise was broken. ``--forgetful`` has the servers say of no answer
that it may stand there twice, so that some are doubled: the check can be seen to find them.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from bot.platforms.teams.rendering.cards import MAY_BE_TWICE
from tests.fakes.teams.exchange import Fault, send_as_service
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.sweeps.delivery import (
    NOTHING_BROKEN,
    EventSender,
    RestartableServer,
    Run,
    ScheduledEvent,
    SendEvent,
    ServerTarget,
    Size,
    chosen,
    restartable_server,
    run_of,
    send_through_kills,
)
from tests.sweeps.teams.scenarios import Script, serve_until_killed, serve_without_repeat_notes

EVENTS_A_SECOND = 20
EVENTS_A_KILL = 100

FAULTS: Sequence[tuple[Fault | None, int]] = (
    (None, 870),
    (Fault(429, retry_after="1", code="TooManyRequests"), 30),
    (Fault(502), 25),
    (Fault(502, after=True), 30),
    (Fault(0), 15),
    (Fault(0, after=True), 25),
    (Fault(200, seconds=1.0), 5),
    (Fault(504, after=True, seconds=16.0), 2),
)
"""What goes wrong with a call, and how often in about a thousand; the last is a time-out."""

FIRST = ("message", "typing")
FAULTY = (*FIRST, "update", "delete", "member")

AT_A_KILL = 10
"""So many posts are on their way, or not noted yet, when a server is killed."""

_MARK = re.compile(r"Q\d{5}")


def answers(teams: FakeTeams) -> Mapping[str, Sequence[str]]:
    """Return what stands in the conversations for each question, by its mark.

    What says that it may stand there twice is an answer only where no other is.
    """
    found: dict[str, list[str]] = {}
    for post in sorted(teams.messages, key=says_again):
        mark = _MARK.search(post.shown)
        if mark and not (says_again(post) and mark[0] in found):
            found.setdefault(mark[0], []).append(post.shown)
    return found


def says_again(post: Sent) -> bool:
    """Tell whether a message says that it may stand there twice."""
    return MAY_BE_TWICE in post.text


def orphans(teams: FakeTeams) -> int:
    """Count the messages which say that a question is worked on, and always will."""
    words = [post for post in teams.messages if post.text]
    return sum(not _MARK.search(post.shown) for post in words)


def repeated(teams: FakeTeams) -> int:
    """Count what stands there once more: answers that say so, and cards below answers."""
    below = Counter(post.reply_to for post in teams.messages if not post.text)
    said = sum(map(says_again, teams.messages))
    return said + sum(count - 1 for count in below.values())


def _broken(teams: FakeTeams, faults: Mapping[str, Sequence[Fault | None]]) -> int:
    """Count the posts that got through while their sender saw an error."""
    done = [each for call in FIRST for each in faults[call][: -len(teams.faults[call]) or None]]
    return sum(fault is not None and fault.after for fault in done)


async def run_delivery(
    size: Size, seed: int, folder: Path, server_is: ServerTarget = serve_until_killed
) -> Run:
    """Let so many events happen, be sent up to four times each, and the server die meanwhile."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    key = generate_private_key(public_exponent=65537, key_size=2048)
    async with (
        FakeTeams(keys={"k1": key}).serving() as teams,
        restartable_server(server_is, folder, teams.url) as server,
    ):
        script = Script(teams, server.session, draw, seconds=size.events / EVENTS_A_SECOND)
        await script.write(size.events)
        kinds, weights = zip(*FAULTS, strict=True)
        faults = {call: draw.choices(kinds, weights, k=9 * size.events) for call in FAULTY}
        for call, coming in faults.items():
            teams.fail(*coming, call=call)
        post = EventSender(server, _at_door(server, teams), size.retry_seconds)
        seen = partial(answers, teams)
        seconds = await send_through_kills(script, post, seen, kills=size.kills, draw=draw)
        deaths = server.deaths
    run = await run_of(script, post, seen(), folder=folder, platform="teams")
    return replace(
        run,
        deaths=deaths,
        seconds=seconds,
        orphans=orphans(teams),
        repeated=repeated(teams),
        unknown=_broken(teams, faults) + AT_A_KILL * deaths,
    )


def meets_promises(run: Run) -> bool:
    """Tell whether every promise was kept.

    What got through unseen can't be found: it may stand there twice, if it says so, and can't be
    removed with its question. No more of that may be there than can have got through unseen.
    """
    left = run.repeated + len(run.verdict.not_withdrawn)
    promised = replace(run.verdict, not_withdrawn=[]) == NOTHING_BROKEN
    return promised and run.orphans == 0 and left <= run.unknown


def _at_door(server: RestartableServer, teams: FakeTeams) -> SendEvent:
    token = teams.token()

    async def send(sending: ScheduledEvent, _: int) -> int:
        return (await send_as_service(server.session, sending.event, token=token)).status

    return send


def main() -> int:
    """Return 1 when a promise was broken."""
    options = chosen("tests.sweeps.teams.delivery", __doc__, events=3_000)
    with TemporaryDirectory() as folder:
        server = serve_without_repeat_notes if options.forgetful else serve_until_killed
        size = Size(options.events, options.events // EVENTS_A_KILL)
        run = asyncio.run(run_delivery(size, options.seed, Path(folder), server))
    sys.stdout.write(f"seed {options.seed}: {run}\n")
    return int(not meets_promises(run))


if __name__ == "__main__":
    sys.exit(main())
