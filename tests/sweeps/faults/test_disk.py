"""The disk is full or takes no writes, and files are damaged, gone or in use."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from bot.store.database import migrate, sqlite_url
from tests.fakes.slack.server import FakeSlack
from tests.sweeps.faults.model import QuotingModel
from tests.sweeps.faults.server import (
    LONG,
    Client,
    Server,
    all_once,
    ask_of_held,
    channel_of,
    on_model,
    on_slack,
    question,
    replies,
    server,
    until,
    until_indexed,
    until_not_ready,
    until_ready,
    waiting_case,
)
from tests.sweeps.sizes import sizes

_BLOCK = bytes(65536)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Leave no space on a disk until the block ends."""
    filler = disk.parent / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(_BLOCK):
            pass
    with suppress(OSError), filler.open("ab", buffering=0) as file:
        while file.write(b"0"):
            pass
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def unwritable(running: Server) -> Iterator[None]:
    """Let every write of a server to a file fail until the block ends."""
    before = resource.prlimit(running.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Refuse all writes to a disk on which no file is open, until the block ends."""
    _remount(disk.parent, "ro")
    try:
        yield
    finally:
        _remount(disk.parent, "rw")


def _remount(point: Path, how: str) -> None:
    subprocess.run(
        ["/bin/mount", "-o", f"remount,{how}", str(point)], check=True, capture_output=True
    )


async def ask_until(asker: Client, running: Server, statuses: set[int], first: int) -> list[int]:
    """Ask one question after the other until each status was seen; return what was acknowledged."""
    acknowledged: list[int] = []
    missing = set(statuses)
    async with asyncio.timeout(LONG):
        while missing:
            text, ts = question(first)
            status = await asker.mention(running.url, text, ts)
            assert status in {200, 503}
            missing.discard(status)
            if status == 200:
                acknowledged.append(first)
            first += 1
    return acknowledged


async def test_a_full_disk_refuses_messages_and_takes_them_again_by_itself(
    small_disk: Path, slack: FakeSlack, asker: Client
) -> None:
    async with server(small_disk, **on_slack(slack.url)) as running:
        await running.start()
        kept = await ask_until(asker, running, {200}, 0)
        await until(all_once(slack, kept))

        with full(small_disk):
            kept += await ask_until(asker, running, {503}, 10)
            status, told = await asker.ask(running.url, "Where can employees park?", "k")
            trouble = await until_not_ready(asker, running.url)
            alive, _ = await asker.get(f"{running.url}/health")

        assert status == 503
        assert "Try again" in told["detail"]
        assert alive == 200
        assert "inbox" in trouble
        assert "free space" in trouble
        kept += await ask_until(asker, running, {200}, 100)
        await until_ready(asker, running.url)
        await until(all_once(slack, kept))
    assert not [line for line in running.logged if "Traceback" in line]


async def test_a_full_disk_refuses_documents_and_acts_and_takes_them_again_by_itself(
    small_disk: Path, slack: FakeSlack, asker: Client
) -> None:
    text, ts = "a human please, my screen is broken", "1700000001.000100"
    async with server(small_disk, **on_slack(slack.url)) as running:
        await running.start()
        sent = [await asker.upload(running.url, "HR", "leave.md", "# Leave\n\n30 days.")]
        await until_indexed(asker, running.url, "HR", 1)
        assert await asker.mention(running.url, text, ts) == 200
        case = await waiting_case(asker, running.url)
        reply = f"{running.url}/api/v1/escalations/{case}/reply"

        with full(small_disk):
            refused = [await asker.upload(running.url, "HR", "pay.md", "# Pay\n" + "x" * 99_999)]
            refused.append(await asker.post(reply, {"text": "Room 3."}))
            started = time.monotonic()
            refused.append(await asker.delete(f"{running.url}/api/v1/documents/HR/leave.md"))
            took = time.monotonic() - started

        await until_ready(asker, running.url)
        sent.append(await asker.upload(running.url, "HR", "pay.md", "# Pay\n\nOn Friday."))
        replied = await asker.post(reply, {"text": "Room 3."})
        await until_indexed(asker, running.url, "HR", 2)
        await until(lambda: len(slack.in_thread(channel_of(ts), ts)) > 1)

    assert (sent, refused, replied) == ([202, 202], [503, 503, 503], 200)
    assert took < 5
    assert len(slack.in_thread(channel_of(ts), ts)) == 2
    assert not [line for line in running.logged if "Traceback" in line]


@sizes("fault", smoke="unwritable", whole="full")
async def test_what_was_acknowledged_before_the_disk_failed_is_answered_once_it_is_well(
    fault: str, small_disk: Path, slack: FakeSlack, model: QuotingModel, asker: Client
) -> None:
    numbers = range(10)
    async with server(small_disk, **on_slack(slack.url), **on_model(model.url)) as running:
        await ask_of_held(model, asker, running, numbers)

        with full(small_disk) if fault == "full" else unwritable(running):
            model.let_go()
            trouble = await until_not_ready(asker, running.url)
            during = replies(slack, numbers)
        await until_ready(asker, running.url)
        await until(all_once(slack, numbers))

    assert "free space" in trouble
    assert max(during.values()) <= 1


async def test_a_disk_that_is_read_only_stops_the_start_with_one_line_and_changes_nothing(
    small_disk: Path,
) -> None:
    async with server(small_disk) as running:
        with read_only(small_disk):
            await running.launch()
            code = await running.ended()
        assert code == 2
        (line,) = running.logged
        assert "FRONTDESK_DATA_DIR" in line
        assert "may write to" in line

        await running.start()


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


@pytest.mark.sweep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("damage", [overwrite_pages, overwrite, cut, delete])
async def test_unfinished_work_is_done_whatever_became_of_the_engine_s_file(
    damage: Damage, data_dir: Path, slack: FakeSlack, model: QuotingModel, asker: Client
) -> None:
    numbers = range(5)
    async with server(data_dir, **on_slack(slack.url), **on_model(model.url)) as running:
        await ask_of_held(model, asker, running, numbers)
        await running.kill()
        without_log(damage, data_dir / "engine.sqlite")
        model.let_go()

        await running.start()
        await until(all_once(slack, numbers))
        await until_ready(asker, running.url)

    moved = list(data_dir.glob("engine.damaged-*"))  # noqa: ASYNC240 - nothing runs meanwhile
    assert bool(moved) == (damage is not delete)


@pytest.mark.sweep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("damage", [overwrite_half, overwrite, overwrite_pages])
async def test_a_damaged_record_stops_the_start_and_names_the_cure(
    damage: Damage, data_dir: Path
) -> None:
    async with server(data_dir) as running:
        record = data_dir / "frontdesk.sqlite"
        migrate(sqlite_url(data_dir))
        without_log(damage, record)
        damaged = record.read_bytes()

        await running.launch()
        code = await running.ended()

    assert code == 2
    line = running.logged[-1]
    assert "frontdesk.sqlite" in line
    assert "Move the file away" in line
    assert record.read_bytes() == damaged


@pytest.mark.sweep
async def test_a_second_server_on_a_data_directory_stops_and_leaves_the_first_alone(
    data_dir: Path, asker: Client
) -> None:
    async with server(data_dir) as first, server(data_dir) as second:
        await first.start()
        await second.launch()
        code = await second.ended()
        status, _ = await asker.get(f"{first.url}/ready")
        asked, _ = await asker.ask(first.url, question(0)[0], "k")

    assert code == 2
    (line,) = second.logged
    assert "Another server runs" in line
    assert "DATABASE_URL" in line
    assert (status, asked) == (200, 200)
