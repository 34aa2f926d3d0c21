"""Files that are damaged or gone at the start, and a second server on the same ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.bot.adapters.slack.server import FakeSlack
from tests.faults.model import QuotingModel
from tests.faults.server import Client, on_model, on_slack, server
from tests.faults.watching import all_once, question, until, until_ready

pytestmark = pytest.mark.slow

Damage = Callable[[Path], None]
HEADER = 100


def overwrite(file: Path) -> None:
    """Make a file no database at all."""
    file.write_bytes(b"no database " * 1000)


def overwrite_pages(file: Path) -> None:
    """Keep a database's header and make rubbish of the rest."""
    kept = file.read_bytes()
    file.write_bytes(kept[:HEADER] + b"\xff" * (len(kept) - HEADER))


def cut(file: Path) -> None:
    """Lose the second half."""
    kept = file.read_bytes()
    file.write_bytes(kept[: len(kept) // 2])


def delete(file: Path) -> None:
    """Lose a database, with what belongs to it."""
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()


def overwrite_half(file: Path) -> None:
    """Make rubbish of the second half."""
    kept = file.read_bytes()
    file.write_bytes(kept[: len(kept) // 2] + b"\xff" * (len(kept) - len(kept) // 2))


def without_log(damage: Damage, file: Path) -> None:
    """Damage a database whose log is merged and gone, so that nothing mends it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(file)


@pytest.mark.parametrize("damage", [overwrite, overwrite_pages, cut, delete])
async def test_unfinished_work_is_done_whatever_became_of_the_engine_s_file(
    damage: Damage, data_dir: Path, slack: FakeSlack, model: QuotingModel, asker: Client
) -> None:
    numbers = range(5)
    model.hold()
    async with server(data_dir, **on_slack(slack.url), **on_model(model.url)) as running:
        await running.start()
        statuses = [await asker.mention(running.url, *question(number)) for number in numbers]
        await until(lambda: model.waiting == len(numbers), within_seconds=10)
        await running.kill()
        without_log(damage, data_dir / "engine.sqlite")
        model.let_go()

        await running.start()
        await until(all_once(slack, numbers), within_seconds=15)
        await until_ready(asker, running.url, within_seconds=5)

    assert set(statuses) == {200}
    moved = list(data_dir.glob("engine.damaged-*"))  # noqa: ASYNC240 - nothing runs meanwhile
    assert bool(moved) == (damage is not delete)


@pytest.mark.parametrize("damage", [overwrite, overwrite_pages, overwrite_half])
async def test_a_damaged_record_stops_the_start_and_names_the_cure(
    damage: Damage, data_dir: Path
) -> None:
    async with server(data_dir) as running:
        await running.start()
        await running.kill()
        record = data_dir / "frontdesk.sqlite"
        without_log(damage, record)
        damaged = record.read_bytes()

        await running.launch()
        code = await running.ended(30)

    assert code == 2
    line = running.logged[-1]
    assert "frontdesk.sqlite" in line
    assert "Move the file away" in line
    assert record.read_bytes() == damaged


async def test_a_second_server_on_a_data_directory_stops_and_leaves_the_first_alone(
    data_dir: Path, asker: Client
) -> None:
    async with server(data_dir) as first, server(data_dir) as second:
        await first.start()
        await second.launch()
        code = await second.ended(30)
        status, _ = await asker.get(f"{first.url}/ready")
        asked, _ = await asker.ask(first.url, question(0)[0], "k")

    assert code == 2
    (line,) = second.logged
    assert "Another server runs" in line
    assert "DATABASE_URL" in line
    assert (status, asked) == (200, 200)
