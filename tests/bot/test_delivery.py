from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from bot.delivery import Deliverer, delivery_id
from bot.errors import DeliveryFailed, StoreUnavailable
from bot.store import Store
from bot.types import Delivery, InteractionId, PostedRef
from tests.bot.fakes import Board, replied
from tests.builders import message

ASKED = message("hello", platform="slack")
REPLY = delivery_id(ASKED.interaction_id)


async def deliverer(store: Store, board: Board, *, attempts: int = 3) -> Deliverer:
    await store.interactions.open(ASKED)
    await store.interactions.close(ASKED.interaction_id, replied("hi"))
    return Deliverer(
        {board.platform: board}, store.interactions, attempts=attempts, first_wait_seconds=0
    )


async def posted(store: Store) -> PostedRef | None:
    kept = await store.interactions.get(ASKED.interaction_id)
    assert kept is not None
    return kept.posted


async def test_a_reply_is_posted_once_and_recorded(store: Store) -> None:
    board = Board()
    deliver = await deliverer(store, board)

    ref = await deliver.deliver(ASKED, replied("hi"))

    assert ref == PostedRef("board", REPLY) == await posted(store)
    assert board.posts == {REPLY: "hi"}
    assert board.posted == 1


def test_the_id_of_a_reply_follows_from_its_question() -> None:
    assert delivery_id(InteractionId("i1")) == "i1:reply"


async def test_a_refused_post_is_tried_again(store: Store) -> None:
    board = Board(refused=2)
    deliver = await deliverer(store, board)

    assert await deliver.deliver(ASKED, replied("hi")) is not None
    assert board.posted == 1


async def test_a_post_whose_answer_was_lost_is_looked_up_not_repeated(store: Store) -> None:
    board = Board(lost=1)
    deliver = await deliverer(store, board)

    assert await deliver.deliver(ASKED, replied("hi")) == PostedRef("board", REPLY)
    assert board.posted == 1


async def test_a_post_of_an_earlier_process_is_looked_up_first(store: Store) -> None:
    board = Board()
    board.posts[REPLY] = "hi"
    deliver = await deliverer(store, board)

    assert await deliver.deliver(ASKED, replied("hi"), again=True) == PostedRef("board", REPLY)
    assert board.posted == 0


async def test_a_platform_that_never_takes_it_is_given_up_and_logged(store: Store) -> None:
    board = Board(refused=99)
    deliver = await deliverer(store, board)

    with capture_logs() as logs:
        assert await deliver.deliver(ASKED, replied("hi")) is None

    assert await posted(store) is None
    assert [line["event"] for line in logs][-1] == "delivery.failed"
    assert [item.id for item in await store.interactions.unfinished()] == [ASKED.interaction_id]


class BrokenBoard(Board):
    """Has a defect of its own."""

    async def deliver(self, delivery: Delivery) -> PostedRef:
        raise KeyError(delivery.id)

    async def withdraw(self, ref: PostedRef) -> None:
        raise DeliveryFailed(f"{ref.id} stays.")


async def test_a_defect_of_a_channel_is_not_retried_and_not_raised(store: Store) -> None:
    deliver = await deliverer(store, BrokenBoard())

    with capture_logs() as logs:
        assert await deliver.deliver(ASKED, replied("hi")) is None

    assert [line["event"] for line in logs] == ["delivery.failed"]


async def test_a_platform_without_a_channel_counts_as_posted(store: Store) -> None:
    await deliverer(store, Board())
    deliver = Deliverer({}, store.interactions)

    ref = await deliver.deliver(ASKED, replied("hi"))

    assert ref == PostedRef(ASKED.thread.key, REPLY) == await posted(store)
    assert await store.interactions.unfinished() == []


async def test_a_record_that_breaks_is_told(store: Store) -> None:
    deliver = await deliverer(store, Board())
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql("ALTER TABLE interactions RENAME TO gone")

    with pytest.raises(StoreUnavailable):
        await deliver.deliver(ASKED, replied("hi"))


async def test_a_reply_is_taken_back_also_when_nobody_recorded_it(store: Store) -> None:
    board = Board()
    deliver = await deliverer(store, board)
    for ref in (PostedRef("board", REPLY), None):
        board.posts[REPLY] = "hi"
        await deliver.withdraw(ASKED, ref)
        assert board.posts == {}

    await deliver.withdraw(ASKED, None)


async def test_a_platform_that_cannot_take_back_is_logged(store: Store) -> None:
    deliver = await deliverer(store, BrokenBoard())

    with capture_logs() as logs:
        await deliver.withdraw(ASKED, PostedRef("board", REPLY))

    assert [line["event"] for line in logs][-1] == "delivery.withdraw_failed"
