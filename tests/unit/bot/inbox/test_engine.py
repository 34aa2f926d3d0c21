"""Tests of the real engine.

It is a singleton: one test at a time in a process.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.domain.errors import EngineUnavailable, InboxUnavailable
from bot.domain.messages import InteractionId
from bot.domain.settings_loading import load_settings
from bot.inbox.engine import DbosEngine, engine_url, forget_work_at
from bot.inbox.ports import RunWork
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.fakes.bot_ports import (
    AnswerBarrier,
    EchoDesk,
    FakePlatform,
    ScriptedPlatform,
    generic_outcome,
)
from tests.fakes.builders import message
from tests.fakes.durable_inbox import inbox_over, running, wait_until_posted
from tests.fakes.http_server import wait_until

pytestmark = pytest.mark.xdist_group("dbos")

ID = InteractionId("i1")
SECRET = "the zirconium envelope"
ASKED = message(f"Where is {SECRET}?", platform="slack")


class Runs:
    """Notes every run, and pauses as told before it is done."""

    def __init__(self, *pauses: float) -> None:
        self._pauses = list(pauses)
        self.seen: list[InteractionId] = []

    async def __call__(self, interaction_id: InteractionId) -> float | None:
        self.seen.append(interaction_id)
        return self._pauses.pop(0) if self._pauses else None


def engine_in(folder: Path, executor: str = "me") -> DbosEngine:
    return DbosEngine(engine_url(load_settings(_env_file=None, data_dir=folder)), executor)


@asynccontextmanager
async def started(folder: Path, run: RunWork, executor: str = "me") -> AsyncIterator[DbosEngine]:
    engine = engine_in(folder, executor)
    await engine.start(run)
    try:
        yield engine
    finally:
        await engine.stop()


def test_its_state_is_beside_the_record(tmp_path: Path) -> None:
    on_file = load_settings(_env_file=None, data_dir=tmp_path)
    on_server = load_settings(_env_file=None, database_url="postgresql+psycopg://u:p@db/x")

    assert engine_url(on_file) == f"sqlite:///{tmp_path / 'engine.sqlite'}"
    assert engine_url(on_server) == "postgresql+psycopg://u:p@db/x"


async def test_the_same_work_twice_or_at_once_runs_once(tmp_path: Path) -> None:
    runs = Runs()
    async with started(tmp_path, runs) as engine:
        await asyncio.gather(*(engine.begin("w1", ID) for _ in range(10)))
        await engine.begin("w2", InteractionId("i2"))
        await wait_until(lambda: len(runs.seen) == 2)
        await engine.begin("w1", ID)
        await asyncio.sleep(0.1)

    assert sorted(runs.seen) == [ID, "i2"]


async def test_work_that_is_not_done_is_run_again_after_its_pause(tmp_path: Path) -> None:
    runs = Runs(0.05, 0.05)
    async with started(tmp_path, runs) as engine:
        await engine.begin("w1", ID)
        await wait_until(lambda: len(runs.seen) == 3)
        await asyncio.sleep(0.1)

    assert runs.seen == [ID] * 3


@pytest.mark.parametrize("name", ["dead", "local"])
async def test_work_of_a_dead_process_is_named_and_not_run_before_it_is_begun_anew(
    tmp_path: Path, name: str
) -> None:
    stuck, paused, done = (InteractionId(each) for each in ("stuck", "paused", "done"))
    first, after = list[InteractionId](), Runs()

    async def begin(interaction_id: InteractionId) -> float | None:
        first.append(interaction_id)
        if interaction_id == stuck:
            await asyncio.sleep(60)
        return 60.0 if interaction_id == paused else None

    async with started(tmp_path, begin, name) as engine:
        for each in (done, paused):
            await engine.begin(each, each)
        await engine.begin(f"{stuck}:2", stuck)
        await wait_until(lambda: len(first) == 3)
        await asyncio.sleep(0.2)

    async with started(tmp_path, after, "me") as engine:
        begun = [await engine.abandon([name]), await engine.abandon(["who was to begin it anew"])]
        # Resumed work would wait in the engine's queue, which is read every second.
        await asyncio.sleep(1.5)
        seen = list(after.seen)
        await engine.begin(f"{paused}:2", paused)
        await wait_until(lambda: after.seen)

    assert begun == [frozenset({paused, stuck})] * 2, "work of an older version as well"
    assert seen == []
    assert after.seen == [paused]


async def test_work_on_forgotten_questions_leaves_no_id(tmp_path: Path) -> None:
    runs = Runs()
    async with started(tmp_path, runs) as engine:
        for each in (ID, f"{ID}:withdraw", "other"):
            await engine.begin(each, InteractionId(each.partition(":")[0]))
        await wait_until(lambda: len(runs.seen) == 3)
        await asyncio.sleep(0.2)
        await engine.forget_work([ID])

    def ids() -> list[str]:
        with closing(sqlite3.connect(tmp_path / "engine.sqlite")) as state:
            return [row[0] for row in state.execute("SELECT workflow_uuid FROM workflow_status")]

    assert ids() == ["other"]
    await forget_work_at(
        engine_url(load_settings(_env_file=None, data_dir=tmp_path)), [InteractionId("other")]
    )
    assert ids() == []
    await forget_work_at(f"sqlite:///{tmp_path / 'none.sqlite'}", [InteractionId("other")])
    assert not (tmp_path / "none.sqlite").exists()


async def test_before_the_start_and_after_the_end_nothing_is_begun_and_the_loop_keeps_its_threads(
    tmp_path: Path,
) -> None:
    engine = engine_in(tmp_path)
    with pytest.raises(InboxUnavailable, match="not running"):
        await engine.begin("w1", ID)
    runs = Runs()
    await engine.start(runs)
    await engine.begin("w0", ID)
    await wait_until(lambda: runs.seen)
    await engine.stop()

    with pytest.raises(InboxUnavailable, match="Send it again"):
        await engine.begin("w1", ID)
    assert await asyncio.to_thread(lambda: "a thread") == "a thread"


async def test_a_folder_that_is_not_there_stops_the_start_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"can't be opened.*permissions") as raised:
        await engine_in(tmp_path / "not there").start(Runs())

    assert "\n" not in str(raised.value)
    assert await asyncio.to_thread(lambda: "a thread") == "a thread"


async def test_what_ended_long_ago_is_forgotten_and_the_rest_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs()
    async with started(tmp_path, runs) as engine:
        await engine.begin("w1", ID)
        await wait_until(lambda: runs.seen)
        await asyncio.sleep(0.2)
        await engine.forget()
        await engine.begin("w1", ID)
        await asyncio.sleep(0.1)
        assert runs.seen == [ID]

        monkeypatch.setattr("bot.inbox.engine._ENDED_KEPT_FOR", timedelta(0))
        await engine.forget()
        await engine.begin("w1", ID)
        await wait_until(lambda: len(runs.seen) == 2)


def words_in(folder: Path, name: str) -> bool:
    """Tell whether the secret is in a database, or in what belongs to it."""
    return any(SECRET.encode() in file.read_bytes() for file in folder.glob(f"{name}*"))


async def test_the_engine_sees_no_word_of_question_or_answer(store: Store, tmp_path: Path) -> None:
    board = ScriptedPlatform(RuntimeError(SECRET))
    opened = inbox_over(store, channels={"slack": board}, engine=engine_in(tmp_path))
    async with running(opened) as inbox:
        accepted = await inbox.accept(ASKED)
        await wait_until_posted(store, accepted)
        assert SECRET in board.posts[f"{accepted}:reply"]
        assert words_in(tmp_path, "frontdesk.sqlite")
        assert not words_in(tmp_path, "engine.sqlite")


HEADER = 100


def spoil(folder: Path, fate: str) -> None:
    file = folder / "engine.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = file.read_bytes()
    for each in folder.glob(f"{file.name}*"):
        each.unlink()
    if fate == "damaged":
        file.write_bytes(b"not a database, but long enough" * 1000)
    elif fate == "damaged behind its header":
        file.write_bytes(before[:HEADER] + b"\xff" * (len(before) - HEADER))


@pytest.mark.parametrize(
    ("fate", "moved_away"), [("damaged", 1), ("damaged behind its header", 1), ("deleted", 0)]
)
async def test_whatever_becomes_of_the_engines_file_the_record_is_worked_off(
    store: Store, tmp_path: Path, fate: str, moved_away: int
) -> None:
    gate, board = AnswerBarrier(), FakePlatform()
    later = message("And then?", message_id="m2", platform="slack", thread="t2")
    limits = WorkLimits(drain_seconds=0)
    first = inbox_over(store, desk=EchoDesk(gate), engine=engine_in(tmp_path), limits=limits)
    async with running(first) as inbox:
        for asked in (ASKED, later):
            await inbox.accept(asked)
        await gate.reached.wait()
    spoil(tmp_path, fate)

    second = inbox_over(store, channels={"slack": board}, engine=engine_in(tmp_path))
    with capture_logs() as logs:
        async with running(second) as inbox:
            outcomes = [await inbox.outcome(each.interaction_id) for each in (ASKED, later)]
            for each in (ASKED, later):
                await wait_until_posted(store, each.interaction_id)

    assert outcomes == [generic_outcome(f"You said: {each.text}") for each in (ASKED, later)]
    assert board.posted == len(board.posts) == 2
    assert len([line for line in logs if line["event"] == "engine.begun_anew"]) == moved_away
    assert named(tmp_path, "engine.damaged-*") == moved_away


def named(folder: Path, pattern: str) -> int:
    return len(list(folder.glob(pattern)))
