"""Tests of the outcome of a message and of the progress that is shown meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.domain.interactions import Escalation, Interaction, Outcome, PostedRef, Reply
from bot.domain.messages import Activity, Inquiry, Message, Person, Refusal, Stage
from bot.domain.outcomes import WAITED
from bot.inbox.in_flight import Progress
from bot.inbox.worker import answer_message
from bot.store.database import Store
from tests.fakes.bot_ports import EchoDesk, FakePlatform, OpenAdmission, generic_outcome
from tests.fakes.builders import activities, message


class Stages:
    """Remembers what was reported."""

    def __init__(self) -> None:
        self.seen: list[Stage] = []

    async def __call__(self, stage: Stage, pages: int = 0) -> None:
        self.seen.append(stage)


class ClosedAdmission:
    """Knows nobody."""

    async def admit(self, message: Message) -> Inquiry:
        raise LookupError(message.author.id)


async def test_the_desks_outcome_is_the_answer() -> None:
    stages = Stages()

    outcome = await answer_message(OpenAdmission(), EchoDesk(), message("hi"), stages)

    assert outcome == generic_outcome("You said: hi")
    assert stages.seen == [Stage.ROUTING]


async def test_an_admission_that_breaks_becomes_an_escalation() -> None:
    stages = Stages()

    with capture_logs() as logs:
        outcome = await answer_message(
            ClosedAdmission(), EchoDesk(), message("hi"), stages, seconds=120
        )

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.question == "hi"
    assert outcome.trace.notes == ("The desk stopped; the log says why.",)
    assert "anna" not in repr(outcome)
    assert stages.seen == [Stage.FAILED]
    assert logs[0]["interaction_id"] == message("hi").interaction_id


class RefusingAdmission:
    """Works on nothing now."""

    async def admit(self, message: Message) -> Refusal:
        return Refusal("Please ask again tomorrow.", "day's budget")


async def test_a_message_that_is_not_worked_on_never_reaches_the_desk() -> None:
    desk = EchoDesk()

    outcome = await answer_message(RefusingAdmission(), desk, message("hi"), Stages())

    assert isinstance(outcome.response, Reply)
    assert outcome.response.text == "Please ask again tomorrow."
    assert outcome.response.refused
    assert outcome.trace.notes == ("limit:day's budget",)
    assert desk.handled == []


async def test_what_waited_too_long_goes_to_people_unless_it_is_refused() -> None:
    desk = EchoDesk()

    late = await answer_message(OpenAdmission(), desk, message("hi"), Stages(), late=True)
    refused = await answer_message(RefusingAdmission(), desk, message("hi"), Stages(), late=True)

    assert isinstance(late.response, Escalation)
    assert late.response.statement == WAITED
    assert late.response.reason == "waited"
    assert isinstance(refused.response, Reply)
    assert desk.handled == []


class UnreadableRecord:
    """Can't look up the history."""

    async def admit(self, message: Message) -> Inquiry:
        raise StoreUnavailable("The disk is full.")


async def test_without_the_record_there_is_no_outcome() -> None:
    with pytest.raises(StoreUnavailable):
        await answer_message(UnreadableRecord(), EchoDesk(), message("hi"), Stages())


async def test_being_cancelled_is_no_outcome() -> None:
    async def forever(_: Message) -> Outcome:
        await asyncio.sleep(60)
        return generic_outcome("late")

    work = asyncio.create_task(
        answer_message(OpenAdmission(), EchoDesk(forever), message("hi"), Stages())
    )
    await asyncio.sleep(0.01)
    work.cancel()

    with pytest.raises(asyncio.CancelledError):
        await work


async def test_who_asked_is_known_also_when_the_desk_stops() -> None:
    anna = Person("anna", "Anna Lopez")

    class Introducing(OpenAdmission):
        async def admit(self, message: Message) -> Inquiry:
            return replace(await super().admit(message), asker=anna)

    async def broken(_: Message) -> Outcome:
        raise RuntimeError("boom")

    outcome = await answer_message(
        Introducing(), EchoDesk(broken), message("hi"), Stages(), seconds=120
    )

    assert isinstance(outcome.response, Escalation)
    assert outcome.asker == anna


ALL = [Stage.RECEIVED, Stage.ROUTING, Stage.SEARCHING]


class SlowBoard(FakePlatform):
    """Takes its time to show a stage."""

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        await asyncio.sleep(0.05)
        await super().progress(message, activity, placeholder)


class BrokenBoard(FakePlatform):
    """Can't show anything."""

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        raise DeliveryFailed(f"No {activity.stage} of {message.id}.")


async def recorded_at_end(
    store: Store, interaction: Interaction, report: Progress
) -> list[Activity]:
    """Return the recorded stages, and those that are recorded with the outcome."""
    return [*await store.interactions.stages(interaction.id), *report.unwritten]


async def test_every_stage_becomes_a_row_in_order(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")

    async with Progress(opened, store.work, None) as report:
        for stage in ALL:
            await report(stage)

    assert await recorded_at_end(store, opened, report) == activities(*ALL)


async def test_how_many_pages_are_read_is_kept_and_shown(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    board = FakePlatform()

    async with Progress(opened, store.work, board) as report:
        await report(Stage.READING, 4)

    reading = [Activity(Stage.READING, 4)]
    assert await recorded_at_end(store, opened, report) == reading
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
    board = FakePlatform()

    async with Progress(opened, store.work, board) as report:
        await report(Stage.DONE)

    assert board.stages == []
    assert await recorded_at_end(store, opened, report) == activities(Stage.DONE)


async def test_what_cannot_be_shown_disturbs_nobody(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")

    with capture_logs() as logs:
        async with Progress(opened, store.work, BrokenBoard()) as report:
            await report(Stage.RECEIVED)

    assert [(line["event"], line["log_level"]) for line in logs] == [("progress.failed", "error")]
    assert await recorded_at_end(store, opened, report) == activities(Stage.RECEIVED)


class CrowdedBoard(FakePlatform):
    """Takes no placeholder now, for it has been sent as much as it takes."""

    def has_placeholder(self, message: Message) -> bool:
        return True

    async def close_placeholder(self, message: Message, placeholder: PostedRef) -> None:
        raise NotImplementedError

    async def open_placeholder(self, message: Message, *, needed: bool = False) -> PostedRef:
        assert not needed
        raise DeliveryFailed(f"Too much for {message.id} now.", retry_after_seconds=2.0)


async def test_a_placeholder_left_out_for_the_pace_of_sends_is_no_error(
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


class PlacingBoard(FakePlatform):
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
        for number, stage in enumerate((Stage.RECEIVED, Stage.SEARCHING), start=1):
            await report(stage)
            async with asyncio.timeout(30):
                while len(board.shown_in) < number:  # noqa: ASYNC110 - a channel tells nobody
                    await asyncio.sleep(0.01)

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


async def test_stages_of_the_last_moment_are_recorded_with_the_outcome(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")

    async with Progress(opened, store.work, None) as report:
        await report(Stage.RECEIVED)
        while not await store.interactions.stages(opened.id):  # noqa: ASYNC110 - rows tell nobody
            await asyncio.sleep(0.01)
        await report(Stage.ROUTING)

    assert report.unwritten == (Activity(Stage.ROUTING),)
    await store.work.close(opened, generic_outcome("ok"), last=True, stages=report.unwritten)
    assert await store.interactions.stages(opened.id) == [
        Activity(Stage.RECEIVED),
        Activity(Stage.ROUTING),
        Activity(Stage.DONE),
    ]
