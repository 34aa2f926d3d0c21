"""Say where a run of the tests spent its time: ``make test ARGS=--profile``."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pytest

_LEVELS = 4
"""Parts of a test's path by which its time is summed, such as tests/unit/bot/web."""
_ROOMS, _TESTS = 20, 20
Seconds = dict[str, float]


@dataclass
class SuiteProfile:
    """Sums what reports say: the seconds of setting up, of the tests, and of tearing down.

    They are seconds of waiting and computing together, of all workers together.
    """

    by_room: Seconds = field(default_factory=lambda: defaultdict(float))
    by_phase: Seconds = field(default_factory=lambda: defaultdict(float))
    by_test: Seconds = field(default_factory=lambda: defaultdict(float))
    counts: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        room = "/".join(report.nodeid.partition("::")[0].split("/")[:_LEVELS])
        self.by_room[room] += report.duration
        self.by_phase[report.when or "call"] += report.duration
        self.by_test[report.nodeid] += report.duration
        self.counts[room] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        whole = sum(self.by_phase.values())
        workers = whole / max(time.monotonic() - self.began, 1e-9)
        terminalreporter.section("where the time went")
        write(f"{whole:.0f} s of all workers, {workers:.1f} of them busy on average")
        write("  ".join(f"{phase} {took:.0f} s" for phase, took in _most(self.by_phase)))
        for room, took in _most(self.by_room, _ROOMS):
            write(f"{took:8.1f} s {took / whole:5.0%} {self.counts[room]:6} tests  {room}")
        write(f"the {_TESTS} longest tests:")
        for test, took in _most(self.by_test, _TESTS):
            write(f"{took:8.1f} s  {test.partition('@')[0]}")


def _most(seconds: Seconds, count: int | None = None) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda each: -each[1])[:count]
