"""The runs of `make chaos`, each from nothing to its result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from psycopg import sql

from tests import postgres
from tests.chaos import faults
from tests.chaos.evidence import sqlite_record, testify
from tests.chaos.questions import Question, draw_questions
from tests.chaos.scenario import Pace, Result, Stage, play, prepare, scatter, staged, unanswered

DATABASE = "chaos"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is made of; the same plan draws the same questions and faults."""

    seed: int = 1
    questions: int = 500
    kills: int = 20
    servers: int = 3
    restarts: int = 2
    disconnects: int = 3
    pace: Pace = field(default_factory=Pace)
    forgetful: bool = False


async def on_sqlite(plan: Plan, folder: Path) -> Result:
    """Kill the one server again and again; it comes back on the same data directory."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    planned = faults.draw_faults(plan.questions, faults.on_sqlite(plan.kills), draw)
    prepared = await asyncio.to_thread(prepare, folder)
    async with staged(folder, prepared, draw=draw, forgetful=plan.forgetful) as stage:
        server = await stage.fleet.add()
        async with _saboteur(stage, draw) as saboteur:
            result = await play(stage, questions, planned, saboteur, draw, plan.pace)
        result.evidence = _evidence(stage, result, questions, sqlite_record(server.data_dir))
    return result


async def on_postgresql(plan: Plan, folder: Path) -> Result:
    """Kill several servers on one database, and the database and its connections, too."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    kinds = faults.on_postgresql(plan.kills, plan.restarts, plan.disconnects, draw)
    planned = faults.draw_faults(plan.questions, kinds, draw)
    prepared = await asyncio.to_thread(prepare, folder)
    with _durable_postgres() as database:
        url = database.create(DATABASE)
        async with staged(
            folder, prepared, draw=draw, forgetful=plan.forgetful, DATABASE_URL=url
        ) as stage:
            for _ in range(plan.servers):
                await stage.fleet.add()
            async with _saboteur(stage, draw, database) as saboteur:
                result = await play(stage, questions, planned, saboteur, draw, plan.pace)
            record = url.replace("postgresql://", "postgresql+psycopg://")
            result.evidence = _evidence(stage, result, questions, record)
    return result


async def delivered_again(plan: Plan, folder: Path) -> Result:
    """Deliver many events one to four times each, at once and in any order; nothing breaks."""
    draw = np.random.default_rng(plan.seed)
    questions = draw_questions(plan.questions, draw)
    prepared = await asyncio.to_thread(prepare, folder)
    async with staged(folder, prepared, draw=draw, forgetful=plan.forgetful) as stage:
        server = await stage.fleet.add()
        result = await scatter(stage, questions, draw, plan.pace.patience)
        result.evidence = _evidence(stage, result, questions, sqlite_record(server.data_dir))
    return result


@asynccontextmanager
async def _saboteur(
    stage: Stage, draw: np.random.Generator, database: postgres.Server | None = None
) -> AsyncIterator[faults.Saboteur]:
    saboteur = faults.Saboteur(
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
    stage: Stage, result: Result, questions: Sequence[Question], record: str
) -> list[str]:
    suspects = set(result.verdict.suspects) | set(result.verdict.not_accepted)
    asked = [question for question in questions if question.number in suspects]
    return testify(record, asked, stage.courier.receipts, stage.eye.seen())
