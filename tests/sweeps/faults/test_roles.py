"""A server that takes messages and servers that answer them, on one PostgreSQL; any is killed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres
from tests.fakes.slack.server import FakeSlack
from tests.sweeps.faults.model import QuotingModel
from tests.sweeps.faults.server import (
    BEARER,
    Client,
    Server,
    all_once,
    on_model,
    on_slack,
    question,
    server,
    until,
    until_ready,
)

DATABASE = "roles"
needs_postgresql = pytest.mark.skipif(not postgres.available(), reason=postgres.MISSING)


@pytest.fixture
def database() -> Iterator[str]:
    """The address of a database of one's own."""
    with postgres.running() as running:
        yield running.create(DATABASE)


@needs_postgresql
async def test_whoever_is_killed_nothing_is_lost_or_answered_twice(
    prepared: Path,
    tmp_path: Path,
    database: str,
    slack: FakeSlack,
    model: QuotingModel,
    asker: Client,
) -> None:
    settings = {"DATABASE_URL": database, **on_slack(slack.url), **on_model(model.url)}
    folders = [shutil.copytree(prepared, tmp_path / name) for name in "abc"]
    async with (
        server(folders[0], FRONTDESK_ROLE="accept", **settings) as accepting,
        server(folders[1], FRONTDESK_ROLE="work", **settings) as dying,
        server(folders[2], FRONTDESK_ROLE="work", **settings) as working,
    ):
        await asyncio.gather(accepting.start(), dying.start())
        model.hold()
        numbers = range(24)
        first = {await asker.mention(accepting.url, *question(each)) for each in numbers[:12]}
        await until(lambda: model.waiting > 0)

        await dying.kill()
        second = {await asker.mention(accepting.url, *question(each)) for each in numbers[12:]}
        await accepting.kill()
        model.let_go()
        await working.start()
        await until(all_once(slack, numbers))
        await accepting.start()
        again = {await asker.mention(accepting.url, *question(each)) for each in numbers}
        told, ready = await answered_by_api(asker, accepting)

    assert first == second == again == {200}
    assert all_once(slack, numbers)()
    assert len(slack.posts) == len(numbers)
    assert told == 200
    assert ready["role"] == "accept"


async def answered_by_api(asker: Client, accepting: Server) -> tuple[int, dict[str, object]]:
    """Ask where others answer; return the status, and what the server says of itself."""
    status, _ = await asker.ask(accepting.url, question(30)[0], "a-key")
    return status, await until_ready(asker, accepting.url)


@needs_postgresql
async def test_who_works_serves_probes_alone_and_the_page_shows_its_answer(
    prepared: Path, tmp_path: Path, database: str, asker: Client
) -> None:
    folders = [shutil.copytree(prepared, tmp_path / name) for name in "ab"]
    async with (
        server(folders[0], FRONTDESK_ROLE="accept", DATABASE_URL=database) as accepting,
        server(folders[1], FRONTDESK_ROLE="work", DATABASE_URL=database) as working,
    ):
        await asyncio.gather(accepting.start(), working.start())
        closed = [await asker.page(f"{working.url}{path}") for path in ("/", "/board", "/api/v2")]
        health, told = await asker.get(f"{working.url}/health")
        metrics = await asker.page(f"{working.url}/metrics")
        page = await ask_on_page(asker, accepting.url)

    assert closed == [503, 503, 503]
    assert (health, told["role"], metrics) == (200, "work", 200)
    assert page


async def ask_on_page(asker: Client, url: str) -> bool:
    """Ask on the web page; return whether its stream of events says that the answer is there."""
    chat = f"{url}/chat/0f0e0d0c-0000-4000-8000-000000000001"
    question_form = {"question": question(3)[0]}
    headers = {**BEARER, "Origin": url}
    async with asker.session.post(chat, data=question_form, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
    async with asker.session.get(f"{chat}/events", headers=BEARER) as events:
        async for line in events.content:
            if line == b"event: answer\n":
                return True
    return False


@pytest.mark.parametrize("role", ["accept", "work"])
async def test_a_role_without_postgresql_is_refused_with_the_cure(
    data_dir: Path, role: str
) -> None:
    async with server(data_dir, FRONTDESK_ROLE=role) as running:
        await running.launch()
        code = await running.ended()

    assert code == 2
    assert f"FRONTDESK_ROLE={role}" in running.logged[-1]
    assert "DATABASE_URL" in running.logged[-1]
