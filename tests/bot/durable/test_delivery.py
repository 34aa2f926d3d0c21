from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.domain.errors import ClaimLost, DeliveryFailed
from bot.domain.interactions import Delivery, Interaction, PostedRef
from bot.domain.messages import Activity, InteractionId, Message, Stage
from bot.inbox.outbox import Deliverer, delivery_id
from bot.store.database import Store
from tests.bot.fakes import Board, replied
from tests.bot.recorded import answered
from tests.builders import message

ASKED = message("hello", platform="slack")
REPLY = delivery_id(ASKED.interaction_id)


async def to_post(store: Store, board: Board) -> tuple[Deliverer, Interaction]:
    return Deliverer({board.platform: board}, store.work), await answered(store, ASKED, "hi")


def test_the_id_of_a_reply_follows_from_its_question() -> None:
    assert delivery_id(InteractionId("i1")) == "i1:reply"


async def test_a_reply_is_posted_once(store: Store) -> None:
    board = Board()
    deliver, interaction = await to_post(store, board)

    assert await deliver.post(interaction, replied("hi"), again=False) == PostedRef("board", REPLY)
    assert board.posts == {REPLY: "hi"}
    assert board.posted == 1


async def test_what_the_platform_says_is_raised_and_one_attempt_is_made(store: Store) -> None:
    board = Board(refused=2)
    deliver, interaction = await to_post(store, board)

    with pytest.raises(DeliveryFailed, match="full"):
        await deliver.post(interaction, replied("hi"), again=False)

    assert board.posted == 0


async def test_a_post_of_an_earlier_attempt_is_looked_up_first(store: Store) -> None:
    board = Board(lost=1)
    deliver, interaction = await to_post(store, board)
    with pytest.raises(DeliveryFailed):
        await deliver.post(interaction, replied("hi"), again=False)

    assert await deliver.post(interaction, replied("hi"), again=True) == PostedRef("board", REPLY)
    assert board.posted == 1


async def test_what_is_not_found_is_posted(store: Store) -> None:
    board = Board()
    deliver, interaction = await to_post(store, board)

    await deliver.post(interaction, replied("hi"), again=True)

    assert board.posted == 1


class SilentBoard(Board):
    """Never answers."""

    async def deliver(self, delivery: Delivery) -> PostedRef:
        await asyncio.sleep(60)
        return PostedRef("board", delivery.id)


async def test_a_platform_that_never_answers_is_given_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.outbox._DEADLINE_SECONDS", 0.05)
    deliver, interaction = await to_post(store, SilentBoard())

    with pytest.raises(DeliveryFailed, match="slack did not answer"):
        await deliver.post(interaction, replied("hi"), again=False)


async def test_a_platform_without_a_channel_counts_as_posted(store: Store) -> None:
    interaction = await answered(store, ASKED, "hi")

    ref = await Deliverer({}, store.work).post(interaction, replied("hi"), again=False)

    assert ref == PostedRef(ASKED.thread.key, REPLY)


def test_only_what_a_channel_posts_is_posted(store: Store) -> None:
    board = Board()
    deliver = Deliverer({board.platform: board}, store.work)

    assert deliver.posts_to(ASKED)
    assert not deliver.posts_to(message("hello", platform="rest"))


class RememberingBoard(Board):
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
    deliver, interaction = await to_post(store, board)
    await store.work.placeholder(interaction, noted)
    kept = await store.interactions.get(interaction.id)
    assert kept is not None

    await deliver.post(kept, replied("hi"), again=False)

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


async def test_a_reply_that_can_not_be_looked_up_is_edited_into_a_placeholder_of_its_own(
    store: Store,
) -> None:
    board = UnaskableBoard(store)
    deliver, interaction = await to_post(store, board)

    await deliver.post(interaction, replied("hi"), again=False)
    kept = await store.interactions.get(interaction.id)
    assert kept is not None
    await deliver.post(kept, replied("hi"), again=True)

    assert (board.opened, board.noted) == ([True], [PostedRef(ASKED.thread.channel, "")])
    assert [each.placeholder for each in board.delivered] == [PostedRef("board", "p1")] * 2


async def test_a_placeholder_that_may_be_there_unseen_is_not_waited_for(store: Store) -> None:
    board = UnaskableBoard(store)
    deliver, interaction = await to_post(store, board)
    unseen = replace(interaction, placeholder=PostedRef("board", ""))

    await deliver.post(unseen, replied("hi"), again=True)

    assert [each.placeholder for each in board.delivered] == [PostedRef("board", "p1")]


async def test_a_placeholder_for_a_reply_that_another_process_posts_is_removed(
    store: Store,
) -> None:
    board = UnaskableBoard(store)
    board.taken_over = True
    deliver, interaction = await to_post(store, board)

    with pytest.raises(ClaimLost):
        await deliver.post(interaction, replied("hi"), again=False)

    assert (board.delivered, board.taken_back) == ([], [[PostedRef("board", "p1")]])


SILENT = replace(replied("hi"), silent=True)


async def test_what_is_only_recorded_is_never_posted_and_needs_no_taking_back(
    store: Store,
) -> None:
    board = RememberingBoard()
    deliver = Deliverer({board.platform: board}, store.work)
    asked = replace(ASKED, overheard=True)
    interaction = await answered(store, asked, SILENT)

    ref = await deliver.post(interaction, SILENT, again=False)
    assert await deliver.post(interaction, SILENT, again=True) == ref
    await deliver.withdraw(await store.work.posted(interaction.id, ref))

    assert ref == PostedRef(ASKED.thread.key, REPLY)
    assert (board.delivered, board.taken_back, board.activities) == ([], [], [])


async def test_who_did_not_address_the_bot_is_shown_no_progress(store: Store) -> None:
    board = RememberingBoard()
    deliver = Deliverer({board.platform: board}, store.work)
    interaction = await store.work.open(replace(ASKED, overheard=True), "me")

    async with deliver.progress(interaction) as report:
        await report(Stage.SEARCHING)

    assert board.activities == []
    assert await store.interactions.stages(interaction.id) == [Activity(Stage.SEARCHING)]


async def test_what_was_shown_to_one_who_is_not_answered_again_is_removed(store: Store) -> None:
    board = RememberingBoard()
    deliver, interaction = await to_post(store, board)
    noted = replace(interaction, placeholder=PostedRef("board", "p1"))

    await deliver.post(noted, SILENT, again=False)

    assert (board.delivered, board.taken_back) == ([], [[PostedRef("board", "p1")]])
    assert board.activities == [Activity(Stage.DONE)]


class BlindBoard(Board):
    """Can't show what is being done."""

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        raise DeliveryFailed(f"No {activity.stage} of {message.id}.")


async def test_what_cannot_be_cleared_holds_nothing_up(store: Store) -> None:
    deliver, interaction = await to_post(store, BlindBoard())

    ref = await deliver.post(interaction, SILENT, again=False)

    assert ref == PostedRef(ASKED.thread.key, REPLY)


async def test_a_reply_is_taken_back_also_when_nobody_recorded_it(store: Store) -> None:
    board = RememberingBoard()
    deliver, interaction = await to_post(store, board)
    await deliver.post(interaction, replied("hi"), again=False)

    await deliver.withdraw(interaction)
    await store.work.posted(interaction.id, PostedRef("board", REPLY))
    await store.work.placeholder(interaction, PostedRef("board", "p1"))
    kept = await store.interactions.get(interaction.id)
    assert kept is not None
    await deliver.withdraw(kept)

    assert board.posts == {}
    assert board.taken_back == [[], [PostedRef("board", "p1"), PostedRef("board", REPLY)]]


async def test_what_people_replied_is_taken_back_with_it(store: Store) -> None:
    board = RememberingBoard()
    deliver, interaction = await to_post(store, board)
    told = (PostedRef("board", "n1"), PostedRef("board", "n2"))

    await deliver.withdraw(replace(interaction, told=told))

    assert board.taken_back == [list(told)]


async def test_what_no_channel_posts_needs_no_taking_back(store: Store) -> None:
    await Deliverer({}, store.work).withdraw(await answered(store, ASKED, "hi"))
