"""How fast Slack's events are acknowledged while all of them are answered.

``python -m tests.bench.bench_acknowledging [--rate 50 100 200] [--seconds 60]``

A real ``serve``, and beside it in turns a bare server that reads, verifies and answers 200; both
are measured from outside, with one new connection an event, as a proxy may do it. What is refused
is sent again, as Slack does. Each rate has a server of its own.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import aiohttp

from tests.bench import baseline_server
from tests.bench.aims import Aim, most_times, print_aims
from tests.bench.beside import Sent, print_beside, process_of, run_at_rate, send_at
from tests.bench.slack_doubles import Doubles, doubles, replies
from tests.sweeps.chaos.scenario import prepare
from tests.sweeps.faults.server import Client, client, on_slack, question, server

WARM_UP_EVENTS = 20
PATIENCE_SECONDS = 600.0
RESENT_SECONDS = (2.0, 10.0, 30.0)
"""When what was refused is sent again: at once, after one minute and five with Slack, scaled."""


@dataclass(slots=True)
class Sending:
    """What became of events: milliseconds until 200, and until a refusal, and how many taken."""

    taken_ms: list[float] = field(default_factory=list)
    refused_ms: list[float] = field(default_factory=list)
    at_once: int = 0
    never: int = 0

    @property
    def taken(self) -> int:
        return len(self.taken_ms)


async def send(asker: Client, url: str, numbers: Sequence[int], rate: float) -> Sending:
    """Deliver so many events a second, and again what was refused."""
    sending = Sending()

    async def one(number: int) -> Sent:
        text, ts = question(number)
        for wait in (0.0, *RESENT_SECONDS):
            await asyncio.sleep(wait)
            started = time.perf_counter()
            status = await asker.mention(url, text, ts)
            took = (time.perf_counter() - started) * 1000
            if status == HTTPStatus.OK:
                sending.at_once += not wait
                sending.taken_ms.append(took)
                return status, took
            sending.refused_ms.append(took)
        sending.never += 1
        return status, took

    await send_at(rate, numbers, one)
    return sending


async def all_answered(there: Doubles, asked: int) -> tuple[int, int, float]:
    """Wait until every thread has a reply; return how many have, how many have two, and when."""
    began = time.perf_counter()
    async with aiohttp.ClientSession() as session:
        while True:
            seen = await replies(session, there)
            waited = time.perf_counter() - began
            if len(seen) >= asked or waited > PATIENCE_SECONDS:
                return len(seen), sum(count > 1 for count in seen.values()), waited
            await asyncio.sleep(0.5)


async def run(rate: float, seconds: float) -> int:
    """Measure and print; return 0 if all aims are held."""
    events = round(rate * seconds)
    with tempfile.TemporaryDirectory() as name:
        prepared = prepare(Path(name))
        async with (
            client() as asker,
            process_of(baseline_server.NAME) as bare_url,
            doubles() as there,
            server(
                prepared, "plain", FRONTDESK_WAITING="100000", **on_slack(there.slack)
            ) as running,
        ):
            await running.start()
            bare = await send(asker, bare_url, range(events), rate)
            warm = await send(asker, running.url, range(WARM_UP_EVENTS), rate)
            numbers = range(WARM_UP_EVENTS, WARM_UP_EVENTS + events)
            load_before = os.getloadavg()[0]
            served = await send(asker, running.url, numbers, rate)
            taken = warm.taken + served.taken
            answered, twice, after = await all_answered(there, taken)
            running.logged.clear()
            running.said.clear()
    print(f"{events} signed events at {rate:.0f}/s, each on a new connection, ms until 200")
    ratio = print_beside(bare.taken_ms, served.taken_ms)
    lost = taken - answered
    print(
        f"  taken {served.taken} of {events}, {served.at_once} of them at once "
        f"(bare {bare.at_once}); of all that were taken lost {lost}, twice {twice}"
    )
    if served.refused_ms:
        longest = max(served.refused_ms)
        print(f"  refused {len(served.refused_ms)} times, after {longest:.0f} ms at most")
    print(f"  the last was answered {after:.0f} s after the last was sent")
    print(f"  load of the machine before: {load_before:.1f}")
    at = f"at {rate:.0f}/s"
    return print_aims(
        Aim(f"events {at}, p99 over the bare server's", ratio, most_times(rate)),
        Aim(f"events {at} not taken", events - served.taken, 0),
        Aim(f"events {at} lost or answered twice", max(0, lost) + twice, 0),
    )


def main() -> int:
    """Print the figures; exit code 1 when an aim is missed."""
    return run_at_rate(run)


if __name__ == "__main__":
    sys.exit(main())
