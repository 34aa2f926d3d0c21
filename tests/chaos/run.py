"""`make chaos`: kill servers while questions are asked, and write down what the askers saw.

``python -m tests.chaos.run [--engine sqlite|postgresql|again|all] [--questions 500] [--kills 20]
[--events 10000] [--seed N] [--out FOLDER] [--forgetful]``

The seed fixes questions and faults; how processes are scheduled is the machine's. The page is
written by a full run of everything only.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

from tests.chaos.report import PAGE, ROOT, page_part, table, write
from tests.chaos.runs import Plan, delivered_again, on_postgresql, on_sqlite
from tests.chaos.scenario import Pace, Result

RUNS = {
    "sqlite": ("SQLite, one server", on_sqlite),
    "postgresql": ("PostgreSQL, three servers", on_postgresql),
    "again": ("delivered up to 4 times", delivered_again),
}
AFTER_A_LEASE_SECONDS = 45.0
"""A server that is presumed dead loses its work after less: a second answer would show by then."""


def main() -> int:
    """Run what is asked for; 1 when a promise was broken."""
    options = _parser().parse_args()
    try:
        return asyncio.run(_main(options))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("Stopped; every server has been ended.", file=sys.stderr)
        return 130


async def _main(options: argparse.Namespace) -> int:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    print(f"seed {options.seed}", flush=True)
    chosen = list(RUNS) if options.engine == "all" else [options.engine]
    results: dict[str, Result] = {}
    for engine in chosen:
        title, _ = RUNS[engine]
        print(f"== {title}", flush=True)
        results[title] = await _run(engine, options)
        _say(results[title])
    print(f"\n{table(results)}")
    if options.engine == "all" and not options.forgetful:
        write(page_part(results, _command(sys.argv[1:]), options.seed))
        print(f"Wrote {PAGE.relative_to(ROOT)}")
    return 0 if all(result.verdict.kept for result in results.values()) else 1


async def _run(engine: str, options: argparse.Namespace) -> Result:
    plan = _plan(engine, options)
    _, run = RUNS[engine]
    if options.out is None:
        with TemporaryDirectory(prefix="chaos-") as folder:
            return await run(plan, Path(folder))
    folder = options.out / f"{engine}-{options.seed}-{int(time())}"
    folder.mkdir(parents=True)
    result = await run(plan, folder)
    (folder / "timeline.txt").write_text("\n".join(result.timeline) + "\n")
    (folder / "evidence.txt").write_text("\n".join(result.evidence) + "\n")
    return result


def _plan(engine: str, options: argparse.Namespace) -> Plan:
    pace = Pace(questions_a_second=options.rate)
    plan = Plan(
        seed=options.seed,
        questions=options.questions,
        kills=options.kills,
        servers=options.servers,
        pace=pace,
        forgetful=options.forgetful,
    )
    match engine:
        case "postgresql":
            return replace(plan, pace=replace(pace, quiet=AFTER_A_LEASE_SECONDS))
        case "again":
            return replace(plan, questions=options.events)
        case _:
            return plan


def _say(result: Result) -> None:
    """Print what went wrong, with the timeline around it, if anything did."""
    if result.evidence or not result.verdict.kept:
        print("\n".join([*result.evidence, "timeline:", *result.timeline]), flush=True)


def _command(arguments: Sequence[str]) -> str:
    return " ".join(["python -m tests.chaos.run", *arguments])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.run")
    parser.add_argument("--engine", choices=[*RUNS, "all"], default="all")
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--servers", type=int, default=3, help="on PostgreSQL")
    parser.add_argument("--rate", type=float, default=3.5, help="questions a second")
    parser.add_argument("--seed", type=int, default=int(time()) % 100_000)
    parser.add_argument("--out", type=Path, help="keep data, logs and evidence in a folder")
    parser.add_argument(
        "--forgetful", action="store_true", help="hide what was posted: replies must be doubled"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
