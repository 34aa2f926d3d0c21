"""How fast Slack's events are acknowledged while all of them are answered.

``python -m tests.bench.bench_acknowledging [--rate 50] [--seconds 60]``

A real ``serve``, and beside it in turns a bare server that reads, verifies and answers 200; both
are measured from outside, with one new connection an event, as a proxy may do it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import aiohttp

from tests.bench import baseline_server
from tests.bench.aims import Aim, most_times, print_aims
from tests.bench.beside import Sent, print_beside, process_of, run_at_rate, send_at
from tests.bench.slack_doubles import Doubles, doubles, replies
from tests.sweeps.chaos.scenario import prepare
from tests.sweeps.faults.server import Client, client, on_slack, question, server

WARM_UP_EVENTS = 20
PATIENCE_SECONDS = 300.0


async def send(
    asker: Client, url: str, numbers: Sequence[int], rate: float
) -> tuple[list[float], int]:
    """Deliver so many events a second."""

    async def one(number: int) -> Sent:
        text, ts = question(number)
        started = time.perf_counter()
        status = await asker.mention(url, text, ts)
        return status, (time.perf_counter() - started) * 1000

    return await send_at(rate, numbers, one)


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
            process_of(baseline_server.NAME) as bare,
            doubles() as there,
            server(
                prepared, "plain", FRONTDESK_WAITING="100000", **on_slack(there.slack)
            ) as running,
        ):
            await running.start()
            bare_ms, _ = await send(asker, bare, range(events), rate)
            _, warm = await send(asker, running.url, range(WARM_UP_EVENTS), rate)
            numbers = range(WARM_UP_EVENTS, WARM_UP_EVENTS + events)
            load_before = os.getloadavg()[0]
            served_ms, taken = await send(asker, running.url, numbers, rate)
            answered, twice, after = await all_answered(there, warm + taken)
            running.logged.clear()
            running.said.clear()
    print(f"{events} signed events at {rate:.0f}/s, each on a new connection, ms until 200")
    ratio = print_beside(bare_ms, served_ms)
    lost = warm + taken - answered
    print(f"  taken {taken} of {events}; of all that were taken lost {lost}, twice {twice}")
    print(f"  the last was answered {after:.0f} s after the last was sent")
    print(f"  load of the machine before: {load_before:.1f}")
    return print_aims(
        Aim("acknowledging events, p99 over the bare server's", ratio, most_times(rate)),
        Aim("events not taken", events - taken, 0),
        Aim("events lost or answered twice", lost + twice, 0),
    )


def main() -> int:
    """Print the figures; exit code 1 when an aim is missed."""
    return run_at_rate(run)


if __name__ == "__main__":
    sys.exit(main())
