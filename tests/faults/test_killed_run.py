"""A server is killed while it reindexes by command: the run goes on, and its message with it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.names import ALICE, HELP
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.web_door import WebDoor
from tests.faults.server import Server, on_slack, server
from tests.faults.watching import until

pytestmark = pytest.mark.slow

PAGES = 150


def write_folder(folder: Path) -> None:
    folder.mkdir()
    for number in range(PAGES):
        text = f"# Rule {number}\n\n" + f"Rule {number} says what is done on day {number}. " * 40
        (folder / f"r{number:03}.md").write_text(text, encoding="utf-8")


@asynccontextmanager
async def alice_at(running: Server, slack: FakeSlack) -> AsyncIterator[Visitor]:
    async with aiohttp.ClientSession(running.url) as session:
        yield Visitor(slack, WebDoor(session), ALICE)


def shown(slack: FakeSlack) -> list[Post]:
    return [post for post in slack.posts if "Reindexing RULES" in post.shown and not post.only_for]


@pytest.mark.parametrize("after_seconds", [0.0, 1.5, 4.0])
async def test_a_run_comes_to_its_end_in_one_message_over_kills(
    data_dir: Path, slack: FakeSlack, tmp_path: Path, after_seconds: float
) -> None:
    write_folder(tmp_path / "rules")
    entry = FolderEntry(str(tmp_path / "rules"), (("everyone",),), None)
    await Ledger(sqlite_in(data_dir), "default").note_folder("RULES", entry)
    settings = {**on_slack(slack.url), "SLACK_ADMINS": ALICE}
    async with server(data_dir, **settings) as running:
        await running.start()
        async with alice_at(running, slack) as alice:
            await alice.command(HELP, "/reindex", "RULES")
        for _ in range(2):
            await asyncio.sleep(after_seconds)
            running.send(signal.SIGKILL)
            await running.ended(10)
            await running.start()
        await until(
            lambda: any("Reindexing RULES: done" in post.shown for post in shown(slack)),
            within_seconds=90,
        )
        await asyncio.sleep(3)

    (post,) = shown(slack)
    assert "Reindexing RULES: done" in post.shown
    assert post.labels == []
