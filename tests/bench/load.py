"""Many questions at once with a slow model: none lost, memory bounded, /health quick.

``python -m tests.bench.load [--questions 1000] [--seconds 2] [--concurrency 16 64]``

A real ``serve``, a Slack and a model in other processes. Most questions come as Slack's events and
are delivered again, as Slack does, until they are acknowledged; one in ten comes over the API. Two
waves show whether memory grows with what was asked before.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from tests.bench.aims import Aim, machine_scale, print_aims
from tests.bench.slack_doubles import Doubles, doubles, replies
from tests.sweeps.chaos.scenario import prepare
from tests.sweeps.faults.server import Client, Server, client, on_model, on_slack, question

API_EVERY = 10
HEALTH_EVERY_SECONDS = 0.1
HEALTH_AIM_SECONDS = 1.0
HEALTH_AIM_MS = 200.0
RETRY_SECONDS = (1.0, 20.0, 60.0)
"""Slack waits nothing, one minute and five, then gives up; somewhat scaled down."""
_QUIET_SECONDS = 2.0
_TOLD_TO_WAIT = frozenset({503, 504})
_MEGABYTE = 1024


@dataclass(slots=True)
class Wave:
    """What became of questions that were posted at once; times in seconds, memory in MB."""

    asked: int
    acknowledged: set[str] = field(default_factory=set)
    refused: int = 0
    api_answered: int = 0
    api_told: int = 0
    lost: int = 0
    twice: int = 0
    took: float = 0.0
    longest_health: float = 0.0
    before: float = 0.0
    peak: float = 0.0
    after: float = 0.0

    @property
    def kept(self) -> bool:
        """Whether everybody got an answer or was told, and the server stayed well."""
        return self.all_answered and self.health_held

    @property
    def all_answered(self) -> bool:
        """Whether each got one answer, over the API perhaps after it was told to wait."""
        api = self.asked // API_EVERY
        taken = self.api_answered == api and not self.refused
        return not self.lost and not self.twice and taken

    @property
    def health_held(self) -> bool:
        """Whether /health was quick throughout."""
        return self.longest_health < HEALTH_AIM_SECONDS


@asynccontextmanager
async def staged(
    seconds: float, concurrency: int, prepared: Path | None
) -> AsyncIterator[tuple[Server, Doubles]]:
    """Run a server and its doubles until the block ends; without ``prepared``, index a wiki."""
    with tempfile.TemporaryDirectory() as name:
        indexed = prepared
        if indexed is None:
            indexed = await asyncio.to_thread(prepare, Path(name))
        settings = {"FRONTDESK_CONCURRENCY": str(concurrency)}
        async with doubles(seconds) as there:
            where = {**on_slack(there.slack), **on_model(there.model)}
            data_dir = shutil.copytree(indexed, Path(name) / "data")
            running = Server(data_dir, {**settings, **where})
            try:
                await running.start()
                yield running, there
            finally:
                await running.kill()


async def post(running: Server, there: Doubles, first: int, count: int, patience: float) -> Wave:
    """Post so many questions at once, and wait until all is answered."""
    wave = Wave(count, before=_memory(running, "VmRSS"))
    _forget_peak(running)
    began = time.perf_counter()
    async with client() as asker:
        probing = asyncio.create_task(_probe(running, wave))
        numbers = range(first, first + count)
        await asyncio.gather(*(_one(asker, running, number, wave) for number in numbers))
        await _settled(there, wave, patience)
        wave.took = time.perf_counter() - began
        await asyncio.sleep(_QUIET_SECONDS)
        probing.cancel()
    wave.peak, wave.after = _memory(running, "VmHWM"), _memory(running, "VmRSS")
    return wave


async def _one(asker: Client, running: Server, number: int, wave: Wave) -> None:
    text, ts = question(number)
    if number % API_EVERY == 0:
        await _one_by_api(asker, running, number, wave)
        return
    for wait in (0.0, *RETRY_SECONDS):
        await asyncio.sleep(wait)
        if await asker.mention(running.url, text, ts) == 200:
            wave.acknowledged.add(ts)
            return
    wave.refused += 1


async def _one_by_api(asker: Client, running: Server, number: int, wave: Wave) -> None:
    """Ask, and again under the same key while told to wait, as docs/api.md says."""
    text, _ = question(number)
    for wait in (0.0, *RETRY_SECONDS):
        await asyncio.sleep(wait)
        status, _ = await asker.ask(running.url, text, str(number))
        wave.api_told += status in _TOLD_TO_WAIT
        if status not in _TOLD_TO_WAIT:
            wave.api_answered += status == 200
            return


async def _settled(there: Doubles, wave: Wave, patience: float) -> None:
    end = time.perf_counter() + patience
    async with aiohttp.ClientSession() as session:
        while True:
            seen = await replies(session, there)
            missing = wave.acknowledged - seen.keys()
            if not missing or time.perf_counter() > end:
                wave.lost = len(missing)
                wave.twice = sum(seen.get(ts, 0) > 1 for ts in wave.acknowledged)
                return
            await asyncio.sleep(0.2)


async def _probe(running: Server, wave: Wave) -> None:
    """Ask /health until cancelled, with a connection that stays."""
    async with aiohttp.ClientSession() as session:
        while True:
            started = time.perf_counter()
            async with session.get(f"{running.url}/health") as answer:
                await answer.read()
            wave.longest_health = max(wave.longest_health, time.perf_counter() - started)
            await asyncio.sleep(HEALTH_EVERY_SECONDS)


def _memory(running: Server, name: str) -> float:
    status = Path(f"/proc/{running.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(name))
    return int(line.split()[1]) / _MEGABYTE


def _forget_peak(running: Server) -> None:
    """Let VmHWM begin anew."""
    Path(f"/proc/{running.pid}/clear_refs").write_text("5")


async def run(
    questions: int, seconds: float, concurrency: int, prepared: Path | None = None
) -> Sequence[Wave]:
    """Post two waves to one server."""
    patience = 60 + questions * max(seconds, 0.5) * 2 / concurrency
    async with staged(seconds, concurrency, prepared) as (running, there):
        first = await post(running, there, 0, questions, patience)
        second = await post(running, there, questions, questions, patience)
    return first, second


def _print(concurrency: int, waves: Sequence[Wave]) -> None:
    for number, wave in enumerate(waves, 1):
        by_slack = wave.asked - wave.asked // API_EVERY
        print(
            f"  concurrency {concurrency}, wave {number}: "
            f"Slack {len(wave.acknowledged)} of {by_slack} acknowledged, lost {wave.lost}, "
            f"twice {wave.twice}; API {wave.api_answered} answered, {wave.api_told} told to wait; "
            f"all in {wave.took:.0f} s"
        )
        print(
            f"      memory {wave.before:.0f} MB before, {wave.peak:.0f} at most, "
            f"{wave.after:.0f} after; /health {wave.longest_health * 1000:.0f} ms at most"
        )


def main() -> int:
    """Print what became of every wave, and whether all aims were held."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[16, 64])
    options = parser.parse_args()
    print(f"{options.questions} questions at once, a model that takes {options.seconds:g} s")
    seen: list[Wave] = []
    for concurrency in options.concurrency:
        waves = asyncio.run(run(options.questions, options.seconds, concurrency))
        _print(concurrency, waves)
        seen += waves
    longest = max(wave.longest_health for wave in seen) * 1000
    first, *_, last = seen
    return print_aims(
        Aim("questions lost, doubled or refused", sum(not wave.all_answered for wave in seen), 0),
        Aim("/health among them, longest", longest, HEALTH_AIM_MS * machine_scale(), "ms"),
        Aim("memory after the last wave over that after the first", last.after / first.after, 1.1),
    )


if __name__ == "__main__":
    sys.exit(main())
