"""Tests of the time before a question's turn: what its asker reads, and what overtakes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Escalation
from bot.domain.messages import InteractionId, Message, Person, Stage, Thread
from bot.inbox.accept import DurableInbox
from bot.store.database import Store
from tests.fakes.bot_ports import AnswerBarrier, EchoDesk, ScriptedPlatform, generic_outcome
from tests.fakes.builders import message
from tests.fakes.durable_inbox import (
    SOON,
    inbox_over,
    record_answer,
    running,
    stored_interaction,
)
from tests.fakes.escalations import until

ONE_AT_A_TIME = replace(SOON, concurrency=1, drain_seconds=0)
"""Two questions are under way then; a third one waits."""


def asked(number: int, person: str = "ann") -> Message:
    question = message(f"question {number}", message_id=f"m{number}", thread=f"t{number}")
    return replace(question, author=Person(person))


@asynccontextmanager
async def busy(store: Store, gate: AnswerBarrier) -> AsyncIterator[tuple[DurableInbox, EchoDesk]]:
    """Run an inbox whose places are all taken until the gate opens."""
    desk = EchoDesk(gate)
    async with running(inbox_over(store, desk=desk, limits=ONE_AT_A_TIME)) as inbox:
        for number in range(2):
            await inbox.accept(asked(number))
        await until(lambda: desk.handled)
        yield inbox, desk


async def test_who_waits_reads_how_many_are_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.turns._TOLD_EVERY_SECONDS", 0.01)
    gate = AnswerBarrier()
    async with busy(store, gate) as (inbox, _):
        ids = [await inbox.accept(asked(number)) for number in range(2, 5)]
        told: list[int] = []
        while not told:
            stages = await store.interactions.stages(ids[-1])
            told = [each.pages for each in stages if each.stage is Stage.WAITING]
        gate.open()
        outcome = await inbox.outcome(ids[-1])

    assert told == [2]
    assert outcome == generic_outcome("You said: question 4")


async def test_a_stopped_question_that_waits_is_withdrawn_at_once(store: Store) -> None:
    gate = AnswerBarrier()
    async with busy(store, gate) as (inbox, desk):
        waiting = await inbox.accept(asked(2))
        await inbox.cancel(waiting)
        with pytest.raises(InteractionUnknown):
            await inbox.outcome(waiting)
        while (await stored_interaction(store, waiting)).status != "cancelled":
            pass
        gate.open()
        await inbox.outcome(asked(1).interaction_id)

    assert "question 2" not in desk.handled


async def test_an_edit_of_a_waiting_question_is_what_is_answered(store: Store) -> None:
    gate = AnswerBarrier()
    async with busy(store, gate) as (inbox, _):
        waiting = await inbox.accept(asked(2))
        await inbox.amend(replace(asked(2), text="edited"))
        gate.open()
        outcome = await inbox.outcome(waiting)

    assert outcome == generic_outcome("You said: edited")


async def test_who_asks_once_is_answered_before_who_asked_often(store: Store) -> None:
    gate = AnswerBarrier()
    async with busy(store, gate) as (inbox, desk):
        many = [await inbox.accept(asked(number)) for number in range(2, 8)]
        one = await inbox.accept(asked(9, "bea"))
        gate.open()
        for interaction_id in (*many, one):
            await inbox.outcome(interaction_id)

    assert desk.handled.index("question 9") < desk.handled.index("question 4")


async def test_what_waited_too_long_is_handed_over_with_words(store: Store) -> None:
    limits = replace(SOON, longest_wait_seconds=1e-9)
    desk = EchoDesk()
    async with running(inbox_over(store, desk=desk, limits=limits)) as inbox:
        outcome = await inbox.outcome(await inbox.accept(asked(1)))

    assert isinstance(outcome.response, Escalation)
    assert "waited too long" in outcome.response.text
    assert desk.handled == []


async def test_what_waited_when_its_process_died_waits_again(store: Store) -> None:
    async with busy(store, AnswerBarrier()) as (inbox, _):
        ids = [await inbox.accept(asked(number)) for number in range(2, 6)]
    desk = EchoDesk()

    async with running(inbox_over(store, desk=desk, limits=ONE_AT_A_TIME)) as resumed:
        for interaction_id in ids:
            await resumed.outcome(InteractionId(interaction_id))

    assert sorted(desk.handled) == [f"question {number}" for number in range(6)]


async def test_replies_that_a_dead_process_left_take_no_place(store: Store) -> None:
    for number in range(3):
        await record_answer(store, replace(asked(number), thread=on_slack(number)), "hi")
    gate = asyncio.Event()
    board = ScriptedPlatform(*[gate.wait] * 3)
    opened = inbox_over(store, channels={"slack": board}, limits=ONE_AT_A_TIME)
    async with running(opened) as inbox:
        await until(lambda: board.tried == 3)
        outcome = await inbox.outcome(await inbox.accept(asked(3)))
        gate.set()

    assert outcome == generic_outcome("You said: question 3")


def on_slack(number: int) -> Thread:
    return message("", platform="slack", thread=f"t{number}").thread
