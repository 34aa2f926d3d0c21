"""How soon `serve --sample` is ready when it was started before, and what it takes when idle.

``python -m tests.bench.bench_start [--starts 5]``

Beside it, in turns, the start of the bare server of other benches, which imports aiohttp, too.
Both start without ``rich``, which is installed for the tests alone, and which structlog imports
where it finds it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import baseline_server
from tests.bench.aims import Aim, machine_scale, print_aims
from tests.fork_server import ROOT

MOST_SECONDS = 1.5
MOST_MEGABYTES = 250.0
_IDLE_SECONDS = 3.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Started:
    """Seconds until ready, by the clock and of processor; megabytes resident when idle."""

    seconds: float
    processor: float
    megabytes: float


def start(arguments: Sequence[str], environment: Mapping[str, str], said: str) -> Started:
    """Start a module in a process of its own, wait for the line that begins so, and end it."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout
            if not any(line.startswith(said) for line in process.stdout):
                raise RuntimeError(f"{arguments} ended before it said {said!r}")
            seconds, used = time.perf_counter() - began, _processor(process.pid)
            time.sleep(_IDLE_SECONDS)
            return Started(seconds, used, _megabytes(process.pid))
        finally:
            process.terminate()
            # What it says while it ends must be read, or it ends by a broken pipe.
            process.communicate()


def _processor(pid: int) -> float:
    """Return the seconds of processor that a process has used."""
    *_, fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / _TICKS


def _megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    (kibibytes,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(kibibytes) / 1024


def measure(starts: int) -> tuple[list[Started], list[Started]]:
    """Return the starts of the bare server and of Frontdesk, in turns, after a first of both."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as hidden:
        (Path(hidden) / "rich.py").write_text("raise ImportError\n", encoding="utf-8")
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        kept["PYTHONPATH"] = hidden
        environment = {**kept, "FRONTDESK_DATA_DIR": folder, "PORT": "0"}
        pairs = [
            (
                start((baseline_server.NAME,), kept, "http"),
                start(("bot", "serve", "--sample"), environment, "Serving "),
            )
            for _ in range(starts + 1)
        ]
    return [bare for bare, _ in pairs[1:]], [serve for _, serve in pairs[1:]]


def main() -> int:
    """Measure, print, and return 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    starts = parser.parse_args().starts
    if sys.platform != "linux":
        print("needs Linux: memory and processor time are read from /proc")
        return 1
    bare, serve = map(_median, measure(starts))
    scale = machine_scale()
    print(f"{starts} starts each, medians: seconds until ready, of processor; MB when idle")
    for name, each in (("the bare server", bare), ("serve --sample", serve)):
        print(
            f"  {name:<16} ready {each.seconds:5.2f}   processor {each.processor:5.2f}"
            f"   memory {each.megabytes:5.0f}"
        )
    return print_aims(
        Aim("a later start", serve.seconds, MOST_SECONDS * scale, "s"),
        Aim("memory of an idle server", serve.megabytes, MOST_MEGABYTES, "MB"),
    )


def _median(starts: Sequence[Started]) -> Started:
    """Return the median of each figure."""
    return Started(
        statistics.median(each.seconds for each in starts),
        statistics.median(each.processor for each in starts),
        statistics.median(each.megabytes for each in starts),
    )


if __name__ == "__main__":
    sys.exit(main())
