from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.errors import DeliveryFailed
from bot.progress import Progress
from bot.store import Store
from bot.types import Message, Stage
from tests.bot.fakes import Board
from tests.builders import message

ALL = [Stage.RECEIVED, Stage.ROUTING, Stage.SEARCHING]


class SlowBoard(Board):
    """Takes its time to show a stage."""

    async def progress(self, message: Message, stage: Stage) -> None:
        await asyncio.sleep(0.05)
        await super().progress(message, stage)


class BrokenBoard(Board):
    """Can't show anything."""

    async def progress(self, message: Message, stage: Stage) -> None:
        raise DeliveryFailed(f"No {stage} of {message.id}.")


async def test_every_stage_becomes_a_row_in_order(store: Store) -> None:
    await store.interactions.open(message("hi"))

    async with Progress(message("hi"), store.interactions, None) as report:
        for stage in ALL:
            await report(stage)

    assert await store.interactions.stages(message("hi").interaction_id) == ALL


async def test_reporting_does_not_wait_for_the_platform(store: Store) -> None:
    await store.interactions.open(message("hi"))
    board = SlowBoard()

    async with Progress(message("hi"), store.interactions, board) as report:
        for stage in ALL:
            await report(stage)
        assert board.stages == []

    assert board.stages[-1] is Stage.SEARCHING
    assert len(board.stages) < len(ALL)


async def test_the_end_of_the_work_is_shown_by_the_reply_alone(store: Store) -> None:
    await store.interactions.open(message("hi"))
    board = Board()

    async with Progress(message("hi"), store.interactions, board) as report:
        await report(Stage.DONE)

    assert board.stages == []
    assert await store.interactions.stages(message("hi").interaction_id) == [Stage.DONE]


async def test_what_cannot_be_shown_disturbs_nobody(store: Store) -> None:
    await store.interactions.open(message("hi"))

    with capture_logs() as logs:
        async with Progress(message("hi"), store.interactions, BrokenBoard()) as report:
            await report(Stage.RECEIVED)

    assert [line["event"] for line in logs] == ["progress.failed"]
    assert await store.interactions.stages(message("hi").interaction_id) == [Stage.RECEIVED]


async def test_work_that_breaks_shows_nothing_afterwards(store: Store) -> None:
    await store.interactions.open(message("hi"))
    board = SlowBoard()

    with pytest.raises(RuntimeError, match="broke"):
        await report_and_break(Progress(message("hi"), store.interactions, board))
    await asyncio.sleep(0.1)

    assert board.stages == []


async def report_and_break(progress: Progress) -> None:
    async with progress as report:
        await report(Stage.RECEIVED)
        await asyncio.sleep(0.02)
        raise RuntimeError("broke")
