"""`make chaos`: kill servers while questions are asked, and write down what the askers saw.

``python -m tests.sweeps.chaos.run [--engine sqlite|postgresql|again|all]
[--questions 500] [--kills 20] [--events 10000] [--seed N] [--out FOLDER] [--forgetful]``
``python -m tests.sweeps.chaos.run --load sqlite|burst|two|rates|four|roles|all
[--load-seconds 10] [--load-kills 10]``

The first does the runs under load as well when it does all others. The seed fixes questions and
faults; how processes are scheduled is the machine's. Each part of the page is written by a full run
of it only.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

import numpy as np
from psycopg import sql

from tests import postgres
from tests.sweeps.chaos import fault_plan
from tests.sweeps.chaos.figures import PAGE, loads_table, page_part, table, write
from tests.sweeps.chaos.loads import LOADS, LoadResult, under_load
from tests.sweeps.chaos.questions import draw_questions
from tests.sweeps.chaos.scenario import (
    Pace,
    Result,
    RunningSystem,
    ask_under_faults,
    deliver_scattered,
    evidence,
    indexed,
    running_system,
    unanswered,
)
from tests.sweeps.chaos.verdict import sqlite_record

DATABASE = "chaos"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is made of; the same plan draws the same questions and faults.

    Every run may be given the data directory that ``prepare`` makes, so as not to make one.
    """

    seed: int = 1
    questions: int = 500
    kills: int = 20
    servers: int = 3
    restarts: int = 2
    disconnects: int = 3
    pace: Pace = field(default_factory=Pace)
    forgetful: bool = False
    plain: bool = True
    """Whether each server is an interpreter of its own; a fork of one starts sooner."""


async def on_sqlite(plan: Plan, folder: Path, prepared: Path | None = None) -> Result:
    """Kill the one server again and again; it comes back on the same data directory."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    planned = fault_plan.draw_faults(plan.questions, fault_plan.on_sqlite(plan.kills), draw)
    index = await indexed(prepared, folder)
    async with running_system(
        folder, index, draw=draw, forgetful=plan.forgetful, plain=plan.plain
    ) as stage:
        server = await stage.fleet.add()
        async with _saboteur(stage, draw) as saboteur:
            result = await ask_under_faults(stage, questions, planned, saboteur, draw, plan.pace)
        result.evidence = evidence(
            stage, result.verdict.noteworthy, questions, sqlite_record(server.data_dir)
        )
    return result


async def on_postgresql(plan: Plan, folder: Path, prepared: Path | None = None) -> Result:
    """Kill several servers on one database, and the database and its connections, too."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    kinds = fault_plan.on_postgresql(plan.kills, plan.restarts, plan.disconnects, draw)
    planned = fault_plan.draw_faults(plan.questions, kinds, draw)
    index = await indexed(prepared, folder)
    with _durable_postgres() as database:
        url = database.create(DATABASE)
        async with running_system(
            folder,
            index,
            draw=draw,
            forgetful=plan.forgetful,
            plain=plan.plain,
            DATABASE_URL=url,
        ) as stage:
            for _ in range(plan.servers):
                await stage.fleet.add()
            async with _saboteur(stage, draw, database) as saboteur:
                result = await ask_under_faults(
                    stage, questions, planned, saboteur, draw, plan.pace
                )
            record = url.replace("postgresql://", "postgresql+psycopg://")
            result.evidence = evidence(stage, result.verdict.noteworthy, questions, record)
    return result


async def delivered_again(plan: Plan, folder: Path, prepared: Path | None = None) -> Result:
    """Deliver many events one to four times each, at once and in any order; nothing breaks."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    index = await indexed(prepared, folder)
    async with running_system(
        folder, index, draw=draw, forgetful=plan.forgetful, plain=plan.plain
    ) as stage:
        server = await stage.fleet.add()
        result = await deliver_scattered(stage, questions, draw, plan.pace.patience)
        result.evidence = evidence(
            stage, result.verdict.noteworthy, questions, sqlite_record(server.data_dir)
        )
    return result


@asynccontextmanager
async def _saboteur(
    stage: RunningSystem, draw: np.random.Generator, database: postgres.Server | None = None
) -> AsyncIterator[fault_plan.Saboteur]:
    saboteur = fault_plan.Saboteur(
        stage.fleet,
        stage.wire,
        stage.timeline,
        draw,
        posted=lambda: len(stage.slack.posts),
        unanswered=lambda: unanswered(stage),
        database=database,
        name=DATABASE,
    )
    try:
        yield saboteur
    finally:
        await saboteur.end()


@contextmanager
def _durable_postgres() -> Iterator[postgres.Server]:
    """Run a PostgreSQL that keeps what it committed when it crashes; tests do without."""
    with postgres.running() as database:
        database.execute(sql.SQL("ALTER SYSTEM SET synchronous_commit = on").format())
        database.execute(sql.SQL("SELECT pg_reload_conf()").format())
        yield database


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
    everything = options.engine == "all" and options.load is None
    engines = [] if options.load else list(RUNS) if everything else [options.engine]
    loads = list(LOADS) if everything or options.load == "all" else [options.load]
    kept = await _each_engine(engines, options)
    return 0 if await _each_load([load for load in loads if load], options) and kept else 1


async def _each_engine(engines: Sequence[str], options: argparse.Namespace) -> bool:
    """Do these runs, and write the page when they are all; return whether all was kept."""
    results: dict[str, Result] = {}
    for engine in engines:
        title, run = RUNS[engine]
        print(f"== {title}", flush=True)
        with _folder(engine, options) as folder:
            results[title] = await run(_plan(engine, options), folder)
            _say(results[title], folder, kept=results[title].verdict.kept)
    if results:
        _show(table(results), "make chaos", options, whole=len(engines) == len(RUNS))
    return all(result.verdict.kept for result in results.values())


async def _each_load(loads: Sequence[str], options: argparse.Namespace) -> bool:
    """Do these runs under load, and write the page when they are all."""
    results: dict[str, LoadResult] = {}
    for name in loads:
        title, load = LOADS[name]
        print(f"== {title}", flush=True)
        planned = replace(
            load,
            seed=options.seed,
            kills=options.load_kills,
            seconds=load.seconds * options.load_seconds / 10,
            quiet=load.quiet if load.alone else AFTER_A_LEASE_SECONDS,
            forgetful=options.forgetful,
        )
        with _folder(f"load-{name}", options) as folder:
            found = results[title] = await under_load(planned, folder)
            _say(found.result, folder, kept=found.kept)
            print(loads_table({title: found}), flush=True)
    if results:
        _show(loads_table(results), "make chaos, loads", options, whole=len(loads) == len(LOADS))
    return all(found.kept for found in results.values())


def _show(shown: str, part: str, options: argparse.Namespace, *, whole: bool) -> None:
    print(f"\n{shown}", flush=True)
    if whole and not options.forgetful:
        write(page_part(shown, _command(sys.argv[1:]), options.seed), part)
        print(f"Wrote {PAGE.name}")


@contextmanager
def _folder(name: str, options: argparse.Namespace) -> Iterator[Path]:
    """Give a folder for a run; without ``--out`` it is removed."""
    if options.out is None:
        with TemporaryDirectory(prefix="chaos-") as folder:
            yield Path(folder)
        return
    kept: Path = options.out / f"{name}-{options.seed}-{int(time())}"
    kept.mkdir(parents=True)
    yield kept


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


def _say(result: Result, folder: Path, *, kept: bool) -> None:
    """Write down what happened; print what went wrong, with the timeline, if anything did."""
    (folder / "timeline.txt").write_text("\n".join(result.timeline) + "\n")
    (folder / "evidence.txt").write_text("\n".join(result.evidence) + "\n")
    if result.evidence or not kept:
        print("\n".join([*result.evidence, "timeline:", *result.timeline]), flush=True)


def _command(arguments: Sequence[str]) -> str:
    return " ".join(["python -m tests.sweeps.chaos.run", *arguments])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.sweeps.chaos.run")
    parser.add_argument("--engine", choices=[*RUNS, "all"], default="all")
    parser.add_argument("--load", choices=[*LOADS, "all"], help="only runs under load")
    parser.add_argument("--load-seconds", type=float, default=10.0, help="at 200/s; less at 500/s")
    parser.add_argument("--load-kills", type=int, default=10)
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
