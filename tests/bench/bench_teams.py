"""How fast Teams' activities are acknowledged while all of them are answered.

``python -m tests.bench.bench_teams [--rate 50] [--seconds 60]``

A real ``serve``, and beside it in turns a bare server that reads, verifies and answers 200; both
are measured from outside, with one new connection an activity, each with a token of a local issuer.
The connector is a process of its own and takes no more than Teams does: 7 calls in a second, 60 in
30 for each chat or channel.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from tests.bench import baseline_server
from tests.bench.aims import Aim, most_times, print_aims
from tests.bench.beside import Sent, print_beside, process_of, run_at_rate, send_at
from tests.bench.teams_doubles import Seen, TeamsDouble, activities, look, teams_double
from tests.fakes.applications import PROGRAM, environment_of
from tests.fakes.teams.exchange import send_as_service
from tests.sweeps.chaos.questions import TOPICS
from tests.sweeps.chaos.scenario import prepare
from tests.sweeps.faults.server import Server

WARM_UP = 20
PATIENCE_SECONDS = 1_200.0

Activity = Mapping[str, Any]


async def send(
    url: str, there: TeamsDouble, asked: Sequence[Activity], rate: float
) -> tuple[list[float], int]:
    """Deliver so many activities a second."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(url, connector=connector) as session:

        async def one(activity: Activity) -> Sent:
            answer = await send_as_service(session, activity, token=there.token)
            return answer.status, answer.seconds * 1000

        return await send_at(rate, asked, one)


async def all_answered(there: TeamsDouble, asked: int) -> tuple[Seen, float]:
    """Wait until every question has a reply, and nothing says that it is worked on."""
    began = time.perf_counter()
    async with aiohttp.ClientSession() as session:
        while True:
            seen = await look(session, there)
            waited = time.perf_counter() - began
            if (len(seen.replies) >= asked and not seen.orphans) or waited > PATIENCE_SECONDS:
                return seen, waited
            await asyncio.sleep(1.0)


async def run(rate: float, seconds: float) -> int:
    """Measure and print; return 0 if all aims are held."""
    events = round(rate * seconds)
    with tempfile.TemporaryDirectory() as name:
        prepared = prepare(Path(name))
        async with (
            teams_double() as there,
            process_of(baseline_server.NAME, "--keys", f"{there.url}/keys") as bare,
        ):
            texts = [TOPICS[n % len(TOPICS)].question for n in range(WARM_UP + events)]
            asked = activities(there.url, texts)
            settings = {"FRONTDESK_WAITING": "100000", **environment_of(there.url)}
            running = Server(prepared, settings, program=PROGRAM)
            try:
                await running.start()
                bare_ms, _ = await send(bare, there, asked[WARM_UP:], rate)
                _, warm = await send(running.url, there, asked[:WARM_UP], rate)
                load_before = os.getloadavg()[0]
                served_ms, taken = await send(running.url, there, asked[WARM_UP:], rate)
                seen, after = await all_answered(there, warm + taken)
            finally:
                await running.kill()
    print(f"{events} activities at {rate:.0f}/s, each on a new connection, ms until 200")
    ratio = print_beside(bare_ms, served_ms)
    lost, twice = warm + taken - len(seen.replies), sum(n > 1 for n in seen.replies.values())
    print(f"  taken {taken} of {events}; of all that were taken lost {lost}, twice {twice}")
    print(f"  placeholders left over: {seen.orphans}")
    calls = ", ".join(f"{name} {count}" for name, count in sorted(seen.calls.items()))
    print(f"  calls to Teams: {calls}; refused as too many: {seen.refused_for_rate}")
    print(f"  the last was answered {after:.0f} s after the last was sent")
    print(f"  load of the machine before: {load_before:.1f}")
    return print_aims(
        Aim("acknowledging activities, p99 over the bare server's", ratio, most_times(rate)),
        Aim("activities not taken", events - taken, 0),
        Aim("activities lost or answered twice", lost + twice + seen.orphans, 0),
    )


def main() -> int:
    """Print the figures; exit code 1 when an aim is missed."""
    return run_at_rate(run)


if __name__ == "__main__":
    sys.exit(main())
