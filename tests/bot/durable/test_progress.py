from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import PostedRef
from bot.domain.messages import Activity, Message, Stage
from bot.inbox.in_flight import Progress
from bot.store.database import Store
from tests.bot.fakes import Board
from tests.builders import activities, message

ALL = [Stage.RECEIVED, Stage.ROUTING, Stage.SEARCHING]


class SlowBoard(Board):
    """Takes its time to show a stage."""

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        await asyncio.sleep(0.05)
        await super().progress(message, activity, placeholder)


class BrokenBoard(Board):
    """Can't show anything."""

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        raise DeliveryFailed(f"No {activity.stage} of {message.id}.")


async def test_every_stage_becomes_a_row_in_order(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")

    async with Progress(opened, store.work, None) as report:
        for stage in ALL:
            await report(stage)

    assert await store.interactions.stages(message("hi").interaction_id) == activities(*ALL)


async def test_how_many_pages_are_read_is_kept_and_shown(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = Board()

    async with Progress(opened, store.work, board) as report:
        await report(Stage.READING, 4)

    reading = [Activity(Stage.READING, 4)]
    assert await store.interactions.stages(opened.id) == reading
    assert board.activities == reading


async def test_reporting_does_not_wait_for_the_platform(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = SlowBoard()

    async with Progress(opened, store.work, board) as report:
        for stage in ALL:
            await report(stage)
        assert board.stages == []

    assert board.stages[-1] is Stage.SEARCHING
    assert len(board.stages) < len(ALL)


async def test_the_end_of_the_work_is_shown_by_the_reply_alone(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = Board()

    async with Progress(opened, store.work, board) as report:
        await report(Stage.DONE)

    assert board.stages == []
    assert await store.interactions.stages(message("hi").interaction_id) == activities(Stage.DONE)


async def test_what_cannot_be_shown_disturbs_nobody(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")

    with capture_logs() as logs:
        async with Progress(opened, store.work, BrokenBoard()) as report:
            await report(Stage.RECEIVED)

    assert [(line["event"], line["log_level"]) for line in logs] == [("progress.failed", "error")]
    assert await store.interactions.stages(message("hi").interaction_id) == activities(
        Stage.RECEIVED
    )


class CrowdedBoard(Board):
    """Takes no placeholder now, for it has been sent as much as it takes."""

    def has_placeholder(self, message: Message) -> bool:
        return True

    async def close_placeholder(self, message: Message, placeholder: PostedRef) -> None:
        raise NotImplementedError

    async def open_placeholder(self, message: Message, *, needed: bool = False) -> PostedRef:
        assert not needed
        raise DeliveryFailed(f"Too much for {message.id} now.", retry_after_seconds=2.0)


async def test_a_placeholder_that_is_left_out_for_the_pace_of_sends_is_no_error(
    store: Store,
) -> None:
    opened = await store.work.open(message("hi"), "me")

    with capture_logs() as logs:
        async with Progress(opened, store.work, CrowdedBoard()) as report:
            await report(Stage.RECEIVED)

    (line,) = logs
    assert (line["event"], line["log_level"]) == ("progress.left_out", "info")
    assert (line["interaction_id"], line["stage"]) == (opened.id, "received")
    assert line["why"].startswith("Too much")


@pytest.mark.mended(id="teams-7")
async def test_a_question_that_is_withdrawn_meanwhile_logs_no_error(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = PlacingBoard()
    board.store = store
    await store.work.cancel(opened.id)

    with capture_logs() as logs:
        async with Progress(opened, store.work, board) as report:
            await report(Stage.RECEIVED)

    assert [line["event"] for line in logs if line["log_level"] in {"warning", "error"}] == []


async def test_work_that_breaks_shows_nothing_afterwards(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = SlowBoard()

    with pytest.raises(RuntimeError, match="broke"):
        await report_and_break(Progress(opened, store.work, board))
    shown = list(board.stages)
    await asyncio.sleep(0.1)

    assert board.stages == shown
    assert Stage.SEARCHING not in shown


async def report_and_break(progress: Progress) -> None:
    async with progress as report:
        await report(Stage.RECEIVED)
        await asyncio.sleep(0.02)
        await report(Stage.SEARCHING)
        raise RuntimeError("broke")


class PlacingBoard(Board):
    """Opens a placeholder and shows stages in it."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0
        self.noted: list[PostedRef | None] = []
        self.shown_in: list[PostedRef | None] = []
        self.store: Store | None = None

    def has_placeholder(self, message: Message) -> bool:
        return True

    async def close_placeholder(self, message: Message, placeholder: PostedRef) -> None:
        raise NotImplementedError

    async def open_placeholder(self, message: Message, *, needed: bool = False) -> PostedRef:
        assert not needed
        assert self.store is not None
        kept = await self.store.interactions.get(message.interaction_id)
        assert kept is not None
        self.noted.append(kept.placeholder)
        self.opened += 1
        return PostedRef("board", "p1")

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        self.shown_in.append(placeholder)


async def test_a_placeholder_is_noted_before_and_after_it_is_posted(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = PlacingBoard()
    board.store = store

    async with Progress(opened, store.work, board) as report:
        await report(Stage.RECEIVED)
        await asyncio.sleep(0.05)
        await report(Stage.SEARCHING)

    assert board.noted == [PostedRef("anna", "")]
    assert board.shown_in == [PostedRef("board", "p1")] * 2
    assert report.placeholder == PostedRef("board", "p1")
    kept = await store.interactions.get(opened.id)
    assert kept is not None
    assert kept.placeholder == PostedRef("board", "p1")


async def test_the_placeholder_of_an_earlier_run_is_used_again(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = PlacingBoard()

    async with Progress(
        replace(opened, placeholder=PostedRef("board", "p0")), store.work, board
    ) as report:
        await report(Stage.RECEIVED)

    assert board.opened == 0
    assert board.shown_in == [PostedRef("board", "p0")]


async def test_a_placeholder_that_may_be_there_unseen_is_not_opened_twice(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = PlacingBoard()

    async with Progress(
        replace(opened, placeholder=PostedRef("board", "")), store.work, board
    ) as report:
        await report(Stage.RECEIVED)

    assert board.opened == 0
    assert board.shown_in == [None]
