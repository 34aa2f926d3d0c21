"""The aims of a bench: printed in one form, read back, and judged over several runs.

An aim in time holds on a machine whose bare server takes 1.5 ms at the median; on a slower one it
is scaled by what the bare server takes there, measured in the same run (`machine_scale`).
"""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tests.bench import baseline_server
from tests.bench.beside import Sent, process_of, send_at
from tests.sweeps.faults.server import client, question

BARE_MS = 1.5
"""Median of the bare server up to which aims in time hold unscaled, in milliseconds."""

_MODERATE_RATE = 50.0
_EVENTS = 150
_RATE = 50.0

_LINE = re.compile(
    r"^aim: (?P<name>.+): (?P<measured>-?[\d.]+)(?P<unit> [^,]+)?, "
    r"at (?P<side>most|least) (?P<bound>-?[\d.]+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Aim:
    """A measured figure and its bound, both in ``unit``; ``least`` when it must not be below."""

    name: str
    measured: float
    bound: float
    unit: str = ""
    least: bool = False

    @property
    def held(self) -> bool:
        return self.measured >= self.bound if self.least else self.measured <= self.bound

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        side = "least" if self.least else "most"
        verdict = "held" if self.held else "MISSED"
        figures = f"{_shown(self.measured)}{unit}, at {side} {_shown(self.bound)}{unit}"
        return f"aim: {self.name}: {figures}: {verdict}"


def print_aims(*aims: Aim) -> int:
    """Print aims; return 0 if all are held, else 1: an exit code."""
    for aim in aims:
        print(aim)
    return 0 if all(aim.held for aim in aims) else 1


def aims_in(output: str) -> tuple[Aim, ...]:
    """Return the aims in a bench's output."""
    return tuple(
        Aim(
            found["name"],
            float(found["measured"]),
            float(found["bound"]),
            (found["unit"] or "").strip(),
            found["side"] == "least",
        )
        for found in _LINE.finditer(output)
    )


Verdict = Literal["held", "within its spread", "MISSED"]


@dataclass(frozen=True, slots=True)
class Judged:
    """An aim over several runs: the median of what was measured, and the range of it.

    The bound is the median's, too, because it may be scaled by the machine in each run.
    """

    aim: Aim
    spread: float

    @property
    def verdict(self) -> Verdict:
        """Whether the median holds, and if not, whether it is off by more than the spread."""
        if self.aim.held:
            return "held"
        off = abs(self.aim.measured - self.aim.bound)
        return "within its spread" if off <= self.spread else "MISSED"


def judge(runs: Sequence[Sequence[Aim]]) -> tuple[Judged, ...]:
    """Return each aim over all runs, in the first one's order, without those that a run lacks."""
    by_name = [{aim.name: aim for aim in run} for run in runs]
    judged = []
    for aim in runs[0] if runs else ():
        found = [run[aim.name] for run in by_name if aim.name in run]
        if len(found) < len(runs):
            continue
        values = [each.measured for each in found]
        middle = Aim(
            aim.name,
            statistics.median(values),
            statistics.median(each.bound for each in found),
            aim.unit,
            aim.least,
        )
        judged.append(Judged(middle, max(values) - min(values)))
    return tuple(judged)


def table(judged: Sequence[Judged]) -> str:
    """Return aims as a Markdown table: median, spread, bound, verdict."""
    rows = ["| aim | median | spread | bound | |", "|---|---|---|---|---|"]
    for each in judged:
        unit = f" {each.aim.unit}" if each.aim.unit else ""
        side = "least" if each.aim.least else "most"
        bound = f"at {side} {_shown(each.aim.bound)}{unit}"
        measured = f"{_shown(each.aim.measured)}{unit}"
        rows.append(
            f"| {each.aim.name} | {measured} | {_shown(each.spread)} | {bound} | {each.verdict} |"
        )
    return "\n".join(rows)


def _shown(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.2f}"


async def _bare_ms() -> float:
    async with client() as asker, process_of(baseline_server.NAME) as bare:

        async def one(number: int) -> Sent:
            text, ts = question(number)
            started = time.perf_counter()
            status = await asker.mention(bare, text, ts)
            return status, (time.perf_counter() - started) * 1000

        took, _ = await send_at(_RATE, range(_EVENTS), one)
    return statistics.median(took)


def most_times(rate: float) -> float:
    """Return how many times the bare server's p99 acknowledging may take at so many a second."""
    return 20.0 if rate <= _MODERATE_RATE else 40.0


def machine_scale() -> float:
    """Measure the bare server, print its median, and return what aims in time are multiplied by."""
    bare = asyncio.run(_bare_ms())
    scale = max(1.0, bare / BARE_MS)
    scaled = "aims in time as they are" if scale == 1.0 else f"aims in time times {scale:.2f}"
    print(f"the bare server: p50 {bare:.2f} ms; {scaled}")
    return scale
