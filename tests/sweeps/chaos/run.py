"""`make chaos`: kill servers while questions are asked, and write down what the askers saw.

``python -m tests.sweeps.chaos.run [--engine sqlite|postgresql|again|all]
[--questions 500] [--kills 20] [--events 10000] [--seed N] [--out FOLDER] [--forgetful]``

The seed fixes questions and faults; how processes are scheduled is the machine's. The page is
written by a full run of everything only.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

import numpy as np
from psycopg import sql

from tests import postgres
from tests.sweeps.chaos import fault_plan
from tests.sweeps.chaos.questions import Question, draw_questions
from tests.sweeps.chaos.scenario import (
    Pace,
    Result,
    RunningSystem,
    ask_under_faults,
    deliver_scattered,
    prepare,
    running_system,
    unanswered,
)
from tests.sweeps.chaos.verdict import LONGEST_SECONDS, evidence_of, sqlite_record

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN = "<!-- written by make chaos: begin -->"
END = "<!-- written by make chaos: end -->"


def table(results: Mapping[str, Result]) -> str:
    """Return the figures as a Markdown table, a column a run."""
    rows = {name: _figures(result) for name, result in results.items()}
    labels = list(next(iter(rows.values())))
    lines = [_row("", *rows), _row("---", *("---:" for _ in rows))]
    lines += [_row(label, *(row[label] for row in rows.values())) for label in labels]
    return "\n".join(lines)


def page_part(results: Mapping[str, Result], command: str, seed: int) -> str:
    """Return what goes between the markers: machine, versions, date, command, seed, table."""
    today = datetime.now(UTC).date()
    engine = f"dbos {version('dbos')}, SQLAlchemy {version('sqlalchemy')}"
    machine = (
        f"{today}, Python {platform.python_version()}, {engine}, {os.cpu_count()} cores, "
        f"{platform.machine()}. Seed {seed}."
    )
    return f"{machine}\n\n```console\n$ {command}\n```\n\n{table(results)}"


def write(part: str, page: Path = PAGE) -> None:
    """Replace what is between the markers; the rest of the page is written by hand.

    Raises ValueError when the page has no markers.
    """
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page.name} lacks {BEGIN!r} and {END!r}. Add them where figures go.")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    page.write_text(f"{before}{BEGIN}\n\n{part}\n\n{END}{after}")


def _figures(result: Result) -> dict[str, str]:
    verdict = result.verdict
    waits = np.array(verdict.waits or [0.0])
    tried = len(verdict.disorder) + verdict.pairs_in_order
    return {
        "questions asked": f"{verdict.asked:,}",
        "deliveries of their events": f"{result.deliveries:,}",
        **{name: str(count) for name, count in _faults(result).items()},
        "never accepted (the platform says so)": str(len(verdict.not_accepted)),
        "**lost**": _bold(len(verdict.lost)),
        "**answered twice**": _bold(len(verdict.twice)),
        "answered otherwise than expected": str(len(verdict.unexpected)),
        "hand-overs to people lost / doubled": f"{len(verdict.cards_lost)} / "
        f"{len(verdict.cards_twice)}",
        "seen where nobody asked": str(len(verdict.strays)),
        "out of order, of pairs in one thread": f"{len(verdict.disorder)} of {tried}",
        f"last answer after last fault, s (aim {LONGEST_SECONDS:.0f})": _seconds(verdict.seconds),
        "from question to answer, s, p50 / p95 / longest": " / ".join(
            f"{value:.1f}" for value in (*np.percentile(waits, [50, 95]), waits.max())
        ),
        "the run took, s": f"{result.seconds:.0f}",
    }


def _faults(result: Result) -> dict[str, int]:
    said = "\n".join(result.timeline)
    return {
        "servers killed (`kill -9`)": said.count(" killed"),
        "of these while starting": said.count(" killed while it started"),
        "of these never to come back": said.count(" is gone for good"),
        "servers that ended by themselves": len(result.ended_by_themselves),
        "PostgreSQL stopped or crashed": said.count("PostgreSQL stopped")
        + said.count("PostgreSQL crashed"),
        "all connections to PostgreSQL cut": said.count("connections to PostgreSQL cut"),
        "calls that Slack broke": sum(result.troubles.values()),
    }


def _seconds(seconds: float | None) -> str:
    return "no fault" if seconds is None else f"{seconds:.1f}"


def _bold(count: int) -> str:
    return f"**{count}**"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


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


async def _indexed(prepared: Path | None, folder: Path) -> Path:
    return await asyncio.to_thread(prepare, folder) if prepared is None else prepared


async def on_sqlite(plan: Plan, folder: Path, prepared: Path | None = None) -> Result:
    """Kill the one server again and again; it comes back on the same data directory."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    planned = fault_plan.draw_faults(plan.questions, fault_plan.on_sqlite(plan.kills), draw)
    indexed = await _indexed(prepared, folder)
    async with running_system(
        folder, indexed, draw=draw, forgetful=plan.forgetful, plain=plan.plain
    ) as stage:
        server = await stage.fleet.add()
        async with _saboteur(stage, draw) as saboteur:
            result = await ask_under_faults(stage, questions, planned, saboteur, draw, plan.pace)
        result.evidence = _evidence(stage, result, questions, sqlite_record(server.data_dir))
    return result


async def on_postgresql(plan: Plan, folder: Path, prepared: Path | None = None) -> Result:
    """Kill several servers on one database, and the database and its connections, too."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    kinds = fault_plan.on_postgresql(plan.kills, plan.restarts, plan.disconnects, draw)
    planned = fault_plan.draw_faults(plan.questions, kinds, draw)
    indexed = await _indexed(prepared, folder)
    with _durable_postgres() as database:
        url = database.create(DATABASE)
        async with running_system(
            folder,
            indexed,
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
            result.evidence = _evidence(stage, result, questions, record)
    return result


async def delivered_again(plan: Plan, folder: Path, prepared: Path | None = None) -> Result:
    """Deliver many events one to four times each, at once and in any order; nothing breaks."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    indexed = await _indexed(prepared, folder)
    async with running_system(
        folder, indexed, draw=draw, forgetful=plan.forgetful, plain=plan.plain
    ) as stage:
        server = await stage.fleet.add()
        result = await deliver_scattered(stage, questions, draw, plan.pace.patience)
        result.evidence = _evidence(stage, result, questions, sqlite_record(server.data_dir))
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


def _evidence(
    stage: RunningSystem, result: Result, questions: Sequence[Question], record: str
) -> list[str]:
    suspects = set(result.verdict.suspects) | set(result.verdict.not_accepted)
    asked = [question for question in questions if question.number in suspects]
    return evidence_of(record, asked, stage.courier.receipts, stage.eye.seen())


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
    return " ".join(["python -m tests.sweeps.chaos.run", *arguments])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.sweeps.chaos.run")
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
