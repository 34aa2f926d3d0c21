"""Questions that are edited or withdrawn while something becomes of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.domain.errors import InteractionUnknown
from bot.domain.messages import Message
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.bot.fakes import Board, EchoDesk, Gate, replied
from tests.bot.inboxes import inbox_over, running
from tests.bot.recorded import becomes, posted, recorded, spoken
from tests.builders import message

PATIENT = WorkLimits(drain_seconds=10)


def asked(number: int) -> Message:
    return message(f"question {number}", message_id=f"m{number}")


async def test_an_edit_while_the_desk_works_is_answered_instead(store: Store) -> None:
    gate = Gate()
    desk = EchoDesk(gate)
    question = message("old")
    async with running(inbox_over(store, desk=desk)) as inbox:
        interaction_id = await inbox.accept(question)
        await gate.reached.wait()

        await inbox.amend(replace(question, text="new"))
        gate.open()

        assert await inbox.outcome(interaction_id) == replied("You said: new")
    assert desk.handled == ["old", "new"]
    assert await spoken(store, asked(9)) == [("new", "You said: new")]


async def test_an_edit_while_waiting_is_answered_alone(store: Store) -> None:
    gate = Gate()
    desk = EchoDesk(gate)
    async with running(inbox_over(store, desk=desk)) as inbox:
        await inbox.accept(asked(1))
        second = await inbox.accept(asked(2))
        await inbox.amend(replace(asked(2), text="edited"))
        gate.open()

        assert await inbox.outcome(second) == replied("You said: edited")
    assert desk.handled == ["question 1", "edited"]


async def test_an_edit_after_the_answer_changes_nothing(store: Store) -> None:
    desk = EchoDesk()
    async with running(inbox_over(store, desk=desk)) as inbox:
        interaction_id = await inbox.accept(message("hello"))
        await inbox.outcome(interaction_id)

        await inbox.amend(message("later"))

        assert await inbox.outcome(interaction_id) == replied("You said: hello")
    assert desk.handled == ["hello"]


async def test_cancelling_stops_the_work_and_frees_the_thread(store: Store) -> None:
    gate = Gate()
    desk = EchoDesk(gate)
    async with running(inbox_over(store, desk=desk)) as inbox:
        first, second = await inbox.accept(asked(1)), await inbox.accept(asked(2))
        waiter = asyncio.create_task(inbox.outcome(first))
        await gate.reached.wait()

        await inbox.cancel(first)
        gate.open()

        with pytest.raises(InteractionUnknown, match="withdrawn"):
            await waiter
        with pytest.raises(InteractionUnknown, match="withdrawn"):
            await inbox.outcome(first)
        assert await inbox.outcome(second) == replied("You said: question 2")
    kept = await recorded(store, first)
    assert (kept.status, kept.message.text, kept.outcome) == ("cancelled", "", None)


async def test_cancelling_what_waits_keeps_it_from_the_desk(store: Store) -> None:
    gate = Gate()
    desk = EchoDesk(gate)
    async with running(inbox_over(store, desk=desk, limits=PATIENT)) as inbox:
        first, second = await inbox.accept(asked(1)), await inbox.accept(asked(2))
        await inbox.cancel(second)
        gate.open()
        await inbox.outcome(first)
        await becomes(store, second, lambda kept: kept.status == "cancelled")

        with pytest.raises(InteractionUnknown, match="withdrawn"):
            await inbox.outcome(second)
    assert desk.handled == ["question 1"]


async def test_cancelling_an_answered_question_takes_the_reply_back(store: Store) -> None:
    board = Board()
    async with running(inbox_over(store, channels={"slack": board})) as inbox:
        interaction_id = await inbox.accept(message("hello", platform="slack"))
        await posted(store, interaction_id)
        assert board.posts

        await inbox.cancel(interaction_id)
        await becomes(store, interaction_id, lambda kept: kept.status == "cancelled")

    assert board.posts == {}
