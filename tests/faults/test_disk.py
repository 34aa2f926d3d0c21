"""The disk is full, takes no writes, or was never writable."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.bot.adapters.slack.server import FakeSlack
from tests.faults.channels import channel_of
from tests.faults.model import QuotingModel
from tests.faults.server import Client, Server, on_model, on_slack, server
from tests.faults.watching import (
    all_once,
    question,
    replies,
    until,
    until_indexed,
    until_not_ready,
    until_ready,
    waiting_case,
)

pytestmark = pytest.mark.slow

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
    async with asyncio.timeout(15):
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
        await until(all_once(slack, kept), within_seconds=10)

        with full(small_disk):
            kept += await ask_until(asker, running, {503}, 10)
            status, told = await asker.ask(running.url, "Where can employees park?", "k")
            trouble = await until_not_ready(asker, running.url, within_seconds=8)
            alive, _ = await asker.get(f"{running.url}/health")

        assert status == 503
        assert "Try again" in told["detail"]
        assert alive == 200
        assert "inbox" in trouble
        assert "free space" in trouble
        kept += await ask_until(asker, running, {200}, 100)
        await until_ready(asker, running.url, within_seconds=8)
        await until(all_once(slack, kept), within_seconds=15)
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

        await until_ready(asker, running.url, within_seconds=8)
        sent.append(await asker.upload(running.url, "HR", "pay.md", "# Pay\n\nOn Friday."))
        replied = await asker.post(reply, {"text": "Room 3."})
        await until_indexed(asker, running.url, "HR", 2)
        await until(lambda: len(slack.in_thread(channel_of(ts), ts)) > 1, within_seconds=10)

    assert (sent, refused, replied) == ([202, 202], [503, 503, 503], 200)
    assert took < 5
    assert len(slack.in_thread(channel_of(ts), ts)) == 2
    assert not [line for line in running.logged if "Traceback" in line]


@pytest.mark.parametrize("fault", ["full", "unwritable"])
async def test_what_was_acknowledged_before_the_disk_failed_is_answered_once_it_is_well(
    fault: str, small_disk: Path, slack: FakeSlack, model: QuotingModel, asker: Client
) -> None:
    numbers = range(10)
    model.hold()
    async with server(small_disk, **on_slack(slack.url), **on_model(model.url)) as running:
        await running.start()
        statuses = [await asker.mention(running.url, *question(number)) for number in numbers]
        await until(lambda: model.waiting == len(numbers), within_seconds=10)

        with full(small_disk) if fault == "full" else unwritable(running):
            model.let_go()
            trouble = await until_not_ready(asker, running.url, within_seconds=8)
            during = replies(slack, numbers)
        await until_ready(asker, running.url, within_seconds=8)
        await until(all_once(slack, numbers), within_seconds=60)

    assert set(statuses) == {200}
    assert "free space" in trouble
    assert max(during.values()) <= 1


async def test_a_disk_that_is_read_only_stops_the_start_with_one_line_and_changes_nothing(
    small_disk: Path,
) -> None:
    async with server(small_disk) as running:
        with read_only(small_disk):
            await running.launch()
            code = await running.ended(30)
        assert code == 2
        (line,) = running.logged
        assert "FRONTDESK_DATA_DIR" in line
        assert "may write to" in line

        await running.start()
