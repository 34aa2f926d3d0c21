"""Tests of the delivery of replies, and of their turns on a platform."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from bot.domain.errors import ClaimLost, DeliveryFailed
from bot.domain.interactions import Delivery, Interaction, Outcome, PostedRef
from bot.domain.messages import Activity, InteractionId, Message, Stage
from bot.inbox.accept import DurableInbox
from bot.inbox.outbox import ReplyOutbox, delivery_id
from bot.store.database import Store
from tests.fakes.bot_ports import (
    EchoDesk,
    FakePlatform,
    IdleEngine,
    QueueingPlatform,
    generic_outcome,
)
from tests.fakes.builders import message
from tests.fakes.durable_inbox import inbox_over, record_answer, running, stored_interaction
from tests.unit.bot.inbox.test_replicas import Clock

ASKED = message("hello", platform="slack")
REPLY = delivery_id(ASKED.interaction_id)


def outbox_of(store: Store, *boards: FakePlatform) -> ReplyOutbox:
    channels = {board.platform: board for board in boards}
    return ReplyOutbox(
        channels,
        store.work,
        alive=lambda: True,
        patience=timedelta(hours=24),
        visible_after_seconds=0.01,
    )


async def to_post(store: Store, board: FakePlatform) -> tuple[ReplyOutbox, Interaction]:
    return outbox_of(store, board), await record_answer(store, ASKED, "hi")


def test_the_id_of_a_reply_follows_from_its_question() -> None:
    assert delivery_id(InteractionId("i1")) == "i1:reply"


async def test_a_reply_is_posted_once(store: Store) -> None:
    board = FakePlatform()
    outbox, interaction = await to_post(store, board)

    assert await outbox.attempt(interaction, generic_outcome("hi"), again=False) == PostedRef(
        "board", REPLY
    )
    assert board.posts == {REPLY: "hi"}
    assert board.posted == 1


async def test_what_the_platform_says_is_raised_and_one_attempt_is_made(store: Store) -> None:
    board = FakePlatform(refused=2)
    outbox, interaction = await to_post(store, board)

    with pytest.raises(DeliveryFailed, match="full"):
        await outbox.attempt(interaction, generic_outcome("hi"), again=False)

    assert board.posted == 0


async def test_a_post_of_an_earlier_attempt_is_looked_up_first(store: Store) -> None:
    board = FakePlatform(lost=1)
    outbox, interaction = await to_post(store, board)
    with pytest.raises(DeliveryFailed):
        await outbox.attempt(interaction, generic_outcome("hi"), again=False)

    assert await outbox.attempt(interaction, generic_outcome("hi"), again=True) == PostedRef(
        "board", REPLY
    )
    assert board.posted == 1


async def test_what_is_not_found_is_posted(store: Store) -> None:
    board = FakePlatform()
    outbox, interaction = await to_post(store, board)

    await outbox.attempt(interaction, generic_outcome("hi"), again=True)

    assert board.posted == 1


class SilentBoard(FakePlatform):
    """Never answers."""

    async def deliver(self, delivery: Delivery) -> PostedRef:
        await asyncio.sleep(60)
        return PostedRef("board", delivery.id)


async def test_a_silent_platform_is_given_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.outbox._DEADLINE_SECONDS", 0.05)
    outbox, interaction = await to_post(store, SilentBoard())

    with pytest.raises(DeliveryFailed, match="slack did not answer"):
        await outbox.attempt(interaction, generic_outcome("hi"), again=False)


async def test_a_platform_without_a_channel_counts_as_posted(store: Store) -> None:
    interaction = await record_answer(store, ASKED, "hi")

    ref = await outbox_of(store).attempt(interaction, generic_outcome("hi"), again=False)

    assert ref == PostedRef(ASKED.thread.key, REPLY)


def test_only_what_a_channel_posts_is_posted(store: Store) -> None:
    board = FakePlatform()
    outbox = outbox_of(store, board)

    assert outbox.posts_to(ASKED)
    assert not outbox.posts_to(message("hello", platform="rest"))


class RememberingBoard(FakePlatform):
    """Remembers what it was asked to post and to take back."""

    def __init__(self) -> None:
        super().__init__()
        self.delivered: list[Delivery] = []
        self.taken_back: list[list[PostedRef]] = []

    async def deliver(self, delivery: Delivery) -> PostedRef:
        self.delivered.append(delivery)
        return await super().deliver(delivery)

    async def withdraw(self, message: Message, posted: list[PostedRef]) -> None:  # type: ignore[override]  # what the deliverer gives
        self.taken_back.append(posted)
        await super().withdraw(message, posted)


@pytest.mark.parametrize(
    ("noted", "given"),
    [(PostedRef("board", "p1"), PostedRef("board", "p1")), (PostedRef("board", ""), None)],
    ids=["known", "never seen"],
)
async def test_the_reply_goes_into_the_placeholder_whose_place_is_known(
    store: Store, noted: PostedRef, given: PostedRef | None
) -> None:
    board = RememberingBoard()
    outbox, interaction = await to_post(store, board)
    await store.work.placeholder(interaction, noted)
    kept = await store.interactions.get(interaction.id)
    assert kept is not None

    await outbox.attempt(kept, generic_outcome("hi"), again=False)

    assert [each.placeholder for each in board.delivered] == [given]


class UnaskableBoard(RememberingBoard):
    """Can't be asked what was posted; opens placeholders, and may be told that one is another's."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self.opened: list[bool] = []
        self.noted: list[PostedRef | None] = []
        self.taken_over = False

    def has_placeholder(self, message: Message) -> bool:
        return True

    async def close_placeholder(self, message: Message, placeholder: PostedRef) -> None:
        raise NotImplementedError

    async def open_placeholder(self, message: Message, *, needed: bool = False) -> PostedRef:
        kept = await self._store.interactions.get(message.interaction_id)
        assert kept is not None
        self.noted.append(kept.placeholder)
        self.opened.append(needed)
        if self.taken_over:
            await self._store.work.claim(kept.id, "another")
        return PostedRef("board", f"p{len(self.opened)}")

    async def find(self, delivery: Delivery) -> PostedRef | None:
        return None


async def test_a_reply_that_can_not_be_found_is_edited_into_its_placeholder(
    store: Store,
) -> None:
    board = UnaskableBoard(store)
    outbox, interaction = await to_post(store, board)

    await outbox.attempt(interaction, generic_outcome("hi"), again=False)
    kept = await store.interactions.get(interaction.id)
    assert kept is not None
    await outbox.attempt(kept, generic_outcome("hi"), again=True)

    assert (board.opened, board.noted) == ([True], [PostedRef(ASKED.thread.channel, "")])
    assert [each.placeholder for each in board.delivered] == [PostedRef("board", "p1")] * 2


async def test_a_placeholder_that_may_be_there_unseen_is_not_waited_for(store: Store) -> None:
    board = UnaskableBoard(store)
    outbox, interaction = await to_post(store, board)
    unseen = replace(interaction, placeholder=PostedRef("board", ""))

    await outbox.attempt(unseen, generic_outcome("hi"), again=True)

    assert [each.placeholder for each in board.delivered] == [PostedRef("board", "p1")]


async def test_a_placeholder_for_a_reply_another_process_posts_is_removed(
    store: Store,
) -> None:
    board = UnaskableBoard(store)
    board.taken_over = True
    outbox, interaction = await to_post(store, board)

    with pytest.raises(ClaimLost):
        await outbox.attempt(interaction, generic_outcome("hi"), again=False)

    assert (board.delivered, board.taken_back) == ([], [[PostedRef("board", "p1")]])


SILENT = replace(generic_outcome("hi"), silent=True)


async def test_what_is_only_recorded_is_never_posted_and_needs_no_taking_back(
    store: Store,
) -> None:
    board = RememberingBoard()
    outbox = outbox_of(store, board)
    asked = replace(ASKED, overheard=True)
    interaction = await record_answer(store, asked, SILENT)

    ref = await outbox.attempt(interaction, SILENT, again=False)
    assert await outbox.attempt(interaction, SILENT, again=True) == ref
    await outbox.remove_posted(await store.work.posted(interaction.id, ref))

    assert ref == PostedRef(ASKED.thread.key, REPLY)
    assert (board.delivered, board.taken_back, board.activities) == ([], [], [])


async def test_who_did_not_address_the_bot_is_shown_no_progress(store: Store) -> None:
    board = RememberingBoard()
    outbox = outbox_of(store, board)
    interaction = await store.work.open(replace(ASKED, overheard=True), "me")

    async with outbox.progress(interaction) as report:
        await report(Stage.SEARCHING)

    assert board.activities == []
    assert report.unwritten == (Activity(Stage.SEARCHING),)


async def test_what_was_shown_to_one_who_is_not_answered_again_is_removed(store: Store) -> None:
    board = RememberingBoard()
    outbox, interaction = await to_post(store, board)
    noted = replace(interaction, placeholder=PostedRef("board", "p1"))

    await outbox.attempt(noted, SILENT, again=False)

    assert (board.delivered, board.taken_back) == ([], [[PostedRef("board", "p1")]])
    assert board.activities == [Activity(Stage.DONE)]


class BlindBoard(FakePlatform):
    """Can't show what is being done."""

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        raise DeliveryFailed(f"No {activity.stage} of {message.id}.")


async def test_what_cannot_be_cleared_holds_nothing_up(store: Store) -> None:
    outbox, interaction = await to_post(store, BlindBoard())

    ref = await outbox.attempt(interaction, SILENT, again=False)

    assert ref == PostedRef(ASKED.thread.key, REPLY)


async def test_a_reply_is_taken_back_also_when_nobody_recorded_it(store: Store) -> None:
    board = RememberingBoard()
    outbox, interaction = await to_post(store, board)
    await outbox.attempt(interaction, generic_outcome("hi"), again=False)

    await outbox.remove_posted(interaction)
    await store.work.posted(interaction.id, PostedRef("board", REPLY))
    await store.work.placeholder(interaction, PostedRef("board", "p1"))
    kept = await store.interactions.get(interaction.id)
    assert kept is not None
    await outbox.remove_posted(kept)

    assert board.posts == {}
    assert board.taken_back == [[], [PostedRef("board", "p1"), PostedRef("board", REPLY)]]


async def test_what_people_replied_is_taken_back_with_it(store: Store) -> None:
    board = RememberingBoard()
    outbox, interaction = await to_post(store, board)
    told = (PostedRef("board", "n1"), PostedRef("board", "n2"))

    await outbox.remove_posted(replace(interaction, told=told))

    assert board.taken_back == [list(told)]


async def test_what_no_channel_posts_needs_no_taking_back(store: Store) -> None:
    await outbox_of(store).remove_posted(await record_answer(store, ASKED, "hi"))


FULL = DeliveryFailed("The board is full.")


def asked(number: int) -> Message:
    """Questions of several threads in one channel."""
    return message(
        f"q{number}", message_id=f"m{number}", platform="slack", channel="C1", thread=f"t{number}"
    )


ONE, TWO = asked(1), asked(2)
ID = ONE.interaction_id


async def by_hand(
    store: Store, board: QueueingPlatform, *questions: Message, desk: EchoDesk | None = None
) -> DurableInbox:
    """Return an inbox that has taken questions, and works only when ``run`` is called."""
    engine = IdleEngine()
    inbox = inbox_over(store, desk=desk, channels={"slack": board}, engine=engine).inbox
    inbox.open()
    for each in questions:
        await inbox.accept(each)
    return inbox


def running_on(inbox: DurableInbox, interaction_id: InteractionId) -> asyncio.Task[float | None]:
    return asyncio.create_task(inbox.run(interaction_id))


async def test_replies_to_one_place_are_posted_one_after_the_other_in_order(store: Store) -> None:
    board, questions = QueueingPlatform(), [asked(number) for number in range(5)]
    inbox = await by_hand(store, board, *questions)
    async with board.place:
        works = []
        for number, each in enumerate(questions):
            works.append(running_on(inbox, each.interaction_id))
            await board.lines_up(*(f"q{n}" for n in range(number + 1)))
        assert board.tried == 0

    assert await asyncio.gather(*works) == [None] * 5
    assert list(board.posts.values()) == [f"You said: q{n}" for n in range(5)]
    assert (board.turns, board.found, board.queue) == (5, 0, [])


async def test_a_turn_may_come_later_than_a_platform_may_take(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.outbox._DEADLINE_SECONDS", 0.05)
    board = QueueingPlatform()
    inbox = await by_hand(store, board, ONE)
    async with board.place:
        work = running_on(inbox, ID)
        await board.lines_up("q1")
        await asyncio.sleep(0.2)

    assert await work is None
    assert board.posted == 1


async def test_a_platform_that_never_answers_gives_the_turn_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.outbox._DEADLINE_SECONDS", 0.05)
    board = QueueingPlatform(asyncio.Event().wait)
    inbox = await by_hand(store, board, ONE)

    assert await inbox.run(ID) is not None

    assert (board.turns, board.place.locked()) == (1, False)
    assert (await stored_interaction(store, ID)).attempts == 1


async def test_a_turn_is_for_one_attempt_and_those_behind_go_on(store: Store) -> None:
    board = QueueingPlatform(FULL)
    inbox = await by_hand(store, board, ONE, TWO)
    async with board.place:
        first = running_on(inbox, ID)
        await board.lines_up("q1")
        second = running_on(inbox, TWO.interaction_id)
        await board.lines_up("q1", "q2")

    assert await first is not None
    assert await second is None
    assert await inbox.run(ID) is None
    assert list(board.posts.values()) == ["You said: q2", "You said: q1"]
    assert (board.turns, board.found) == (3, 1)


async def test_a_withdrawn_question_leaves_the_queue_at_once(store: Store) -> None:
    board = QueueingPlatform()
    inbox = await by_hand(store, board, ONE, TWO)
    async with board.place:
        first = running_on(inbox, ID)
        await board.lines_up("q1")
        second = running_on(inbox, TWO.interaction_id)
        await board.lines_up("q1", "q2")

        await inbox.cancel(ID)

        async with asyncio.timeout(60):
            assert await first is None
        await board.lines_up("q2")
        assert await inbox.run(ID) is None
        assert (await stored_interaction(store, ID)).status == "cancelled"

    assert await second is None
    assert list(board.posts.values()) == ["You said: q2"]


async def test_a_withdrawal_by_another_process_is_seen_when_the_turn_comes(store: Store) -> None:
    board = QueueingPlatform()
    inbox = await by_hand(store, board, ONE)
    async with board.place:
        work = running_on(inbox, ID)
        await board.lines_up("q1")
        await store.work.cancel(ID)

    assert await work is None
    assert (board.tried, board.queue) == (0, [])
    assert (await stored_interaction(store, ID)).status == "cancelling"


async def test_a_reply_that_is_being_posted_is_not_broken_off_but_taken_back(store: Store) -> None:
    async def withdrawn_meanwhile() -> None:
        await inbox.cancel(ID)

    board = QueueingPlatform(withdrawn_meanwhile)
    inbox = await by_hand(store, board, ONE)

    assert await inbox.run(ID) is None

    assert (board.posted, board.posts) == (1, {})
    assert (await stored_interaction(store, ID)).status == "cancelled"


async def test_who_loses_its_lease_while_it_waits_posts_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("bot.inbox.heartbeat.time", clock)
    monkeypatch.setattr("bot.inbox.outbox._LEASE_CHECK_SECONDS", 0.01)
    board = QueueingPlatform()
    opened = inbox_over(store, channels={"slack": board}, engine=IdleEngine(), alone=False)
    async with running(opened) as inbox, board.place:
        await inbox.accept(ONE)
        work = running_on(inbox, ID)
        await board.lines_up("q1")
        with capture_logs() as logs:
            clock.now += 60
            assert await work is None

    assert "work.claim_lost" in [line["event"] for line in logs]
    assert (board.tried, board.queue) == (0, [])
    assert (await stored_interaction(store, ID)).posting is False


async def test_what_never_had_its_turn_needs_no_look_up_after_a_death(store: Store) -> None:
    board = QueueingPlatform()
    inbox = await by_hand(store, board, ONE)
    async with board.place:
        work = running_on(inbox, ID)
        await board.lines_up("q1")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    kept = await stored_interaction(store, ID)
    assert (kept.status, kept.posting, kept.attempts) == ("done", False, 0)

    assert await inbox.run(ID) is None

    assert (board.posted, board.found) == (1, 0)


async def test_what_had_its_turn_is_looked_up_after_a_death(store: Store) -> None:
    reached = asyncio.Event()

    async def dies() -> None:
        reached.set()
        await asyncio.Event().wait()

    board = QueueingPlatform(dies)
    inbox = await by_hand(store, board, ONE)
    work = running_on(inbox, ID)
    await reached.wait()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert (await stored_interaction(store, ID)).posting

    assert await inbox.run(ID) is None

    assert (board.posted, board.found) == (1, 1)


async def test_what_is_only_recorded_waits_for_no_turn(store: Store) -> None:
    async def alone(_: Message) -> Outcome:
        return replace(generic_outcome("hi"), silent=True)

    board = QueueingPlatform()
    overheard = replace(ONE, overheard=True)
    inbox = await by_hand(store, board, overheard, desk=EchoDesk(alone))

    async with board.place, asyncio.timeout(60):
        assert await inbox.run(ID) is None

    assert (board.turns, board.tried, board.activities) == (0, 0, [])
    assert (await stored_interaction(store, ID)).posted is not None
