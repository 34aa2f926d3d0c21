"""Draw where the time of one question and of a hundred goes, as flame graphs: ``make profile``.

``python -m tests.bench.flame_graphs [--folder .build]`` writes ``one-question.svg`` and
``hundred-questions.svg``; a browser opens them, a click enlarges a frame.

What is sampled is who holds the interpreter, which is what limits answers a second; SQLite, numpy
and the embedder's network run without it. py-spy samples from a process of its own, so that what
is measured is not slowed. On Linux it needs no rights: this process allows it. On macOS it needs
root: ``sudo .venv/bin/python -m tests.bench.flame_graphs``.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.observability.logs import set_up_logs
from tests.bench.answering import answering, collect_as_served
from tests.bench.bench_throughput import sample_questions
from tests.fork_server import ROOT

_PR_SET_PTRACER = 0x59616D61
_PR_SET_PTRACER_ANY = ctypes.c_ulong(-1)
_GRAPHS = {"one-question": (1, 1000), "hundred-questions": (100, 250)}
"""How many questions, one after the other, and how often a second is looked."""


class ProfilerFailed(RuntimeError):
    """py-spy could not look at this process."""


def allow_tracing() -> None:
    """Let any process of this user look at this one, where Linux allows it to parents alone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _PR_SET_PTRACER_ANY, 0, 0, 0)


@asynccontextmanager
async def sampled(drawn: Path, rate: int) -> AsyncIterator[None]:
    """Draw a flame graph of what this process does in the block. Raises ProfilerFailed."""
    py_spy = Path(sys.executable).with_name("py-spy")
    options = ("--gil", "--function", "--rate", str(rate), "--output", str(drawn))
    sampler = await asyncio.create_subprocess_exec(
        *(str(py_spy), "record", "--pid", str(os.getpid()), *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert sampler.stdout
    said = [await sampler.stdout.readline()]
    while said[-1] and b"Sampling" not in said[-1]:
        said.append(await sampler.stdout.readline())
    if not said[-1]:
        raise ProfilerFailed(b"".join(said).decode().strip())
    try:
        yield
    finally:
        sampler.send_signal(signal.SIGINT)
        await sampler.communicate()


async def draw(folder: Path) -> None:
    """Answer questions of the sample company, and draw."""
    questions = sample_questions()
    with tempfile.TemporaryDirectory() as name:
        async with answering(Path(name), sample=True) as answers:
            await answers.answer(questions, 1)
            collect_as_served()
            for title, (count, rate) in _GRAPHS.items():
                drawn = folder / f"{title}.svg"
                async with sampled(drawn, rate):
                    await answers.answer(questions[:count], 1)
                print(f"Wrote {drawn}")


def main() -> int:
    """Draw both; 1 when the profiler can't look at this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=ROOT / ".build")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    set_up_logs("error")
    allow_tracing()
    try:
        asyncio.run(draw(folder))
    except ProfilerFailed as error:
        print(f"No flame graph: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
