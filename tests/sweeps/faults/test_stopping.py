"""A server is stopped while it works, or killed while it reindexes by command."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry
from tests.fakes.slack.events import WebDoor
from tests.fakes.slack.names import ALICE, HELP
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor
from tests.sweeps.faults.model import QuotingModel
from tests.sweeps.faults.server import (
    Client,
    Server,
    all_once,
    ask_of_held,
    on_model,
    on_slack,
    question,
    server,
    until,
)
from tests.sweeps.sizes import SWEEP

NEVER_SECONDS = "300"
END_SECONDS = 25.0
"""Promised in docs/reliability.md."""


@pytest.mark.sweep
async def test_stopping_with_50_questions_under_way_takes_25_s_and_loses_none(
    data_dir: Path, slack: FakeSlack, model: QuotingModel, asker: Client
) -> None:
    numbers = range(50)
    model.hold()
    patient = {**on_model(model.url), "OPENAI_TIMEOUT_SECONDS": NEVER_SECONDS}
    async with server(data_dir, **on_slack(slack.url), **patient) as running:
        await running.start()
        sent = (asker.mention(running.url, *question(number)) for number in numbers)
        statuses = set(await asyncio.gather(*sent))
        waiting = asyncio.create_task(asker.ask(running.url, question(0)[0], "k"))
        await until(lambda: model.waiting == 16)

        running.send(signal.SIGTERM)
        status, told = await waiting
        code = await running.ended(END_SECONDS)

        model.let_go()
        await running.start()
        await until(all_once(slack, numbers))
        again, answer = await asker.ask(running.url, question(0)[0], "k")

    assert statuses == {200}
    assert code == 0
    assert status == 503
    assert "is kept" in told["detail"]
    assert (again, answer["status"]) == (200, "answered")


async def test_what_can_be_finished_is_finished_before_the_server_ends(
    data_dir: Path, slack: FakeSlack, model: QuotingModel, asker: Client
) -> None:
    numbers = range(10)
    async with server(data_dir, **on_slack(slack.url), **on_model(model.url)) as running:
        await ask_of_held(model, asker, running, numbers)

        running.send(signal.SIGTERM)
        await asyncio.sleep(0.5)
        model.let_go()
        code = await running.ended(END_SECONDS)

    assert code == 0
    assert all_once(slack, numbers)()


async def test_who_is_stopped_as_soon_as_it_serves_ends_in_order(data_dir: Path) -> None:
    async with server(data_dir, "plain") as running:
        await running.start()
        running.send(signal.SIGTERM)
        code = await running.ended(END_SECONDS)

    assert code == 0
    assert running.logged == []


@dataclass(frozen=True)
class Kills:
    """How often a run over so many pages is killed, and how long after it went on."""

    times: int
    after_seconds: float
    pages: int = 150


def write_folder(folder: Path, pages: int) -> None:
    folder.mkdir()
    for number in range(pages):
        text = f"# Rule {number}\n\n" + f"Rule {number} says what is done on day {number}. " * 40
        (folder / f"r{number:03}.md").write_text(text, encoding="utf-8")


@asynccontextmanager
async def alice_at(running: Server, slack: FakeSlack) -> AsyncIterator[Visitor]:
    async with aiohttp.ClientSession(running.url) as session:
        yield Visitor(slack, WebDoor(session), ALICE)


def shown(slack: FakeSlack) -> list[Post]:
    return [post for post in slack.posts if "Reindexing RULES" in post.shown and not post.only_for]


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(Kills(1, 0.5, pages=20), id="smoke"),
        *(pytest.param(Kills(2, s), id=f"after {s} s", marks=SWEEP) for s in (0.0, 1.5, 4.0)),
    ],
)
async def test_a_run_comes_to_its_end_in_one_message_over_kills(
    data_dir: Path, slack: FakeSlack, tmp_path: Path, kills: Kills
) -> None:
    write_folder(tmp_path / "rules", kills.pages)
    entry = FolderEntry(str(tmp_path / "rules"), (("everyone",),), None)
    await Ledger(sqlite_in(data_dir), "default").note_folder("RULES", entry)
    settings = {**on_slack(slack.url), "SLACK_ADMINS": ALICE}
    async with server(data_dir, **settings) as running:
        await running.start()
        async with alice_at(running, slack) as alice:
            await alice.command(HELP, "/reindex", "RULES")
        for _ in range(kills.times):
            await asyncio.sleep(kills.after_seconds)
            running.send(signal.SIGKILL)
            await running.ended()
            await running.start()
        await until(
            lambda: any("Reindexing RULES: done" in post.shown for post in shown(slack)),
        )
        await asyncio.sleep(1.5 * kills.times)

    (post,) = shown(slack)
    assert "Reindexing RULES: done" in post.shown
    assert post.labels == []
