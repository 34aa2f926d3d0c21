"""Replies in a channel come in the order of their questions, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.capabilities import TakesTurns
from bot.domain.messages import Message
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.messages.reply_order import ReplyOrder
from tests.bot.adapters.slack.questions import question


async def at_once(_: str) -> None:
    await asyncio.sleep(0)


def asked(number: int) -> Message:
    return question(id=f"1700000000.{number:06d}")


def test_slack_takes_turns(channel: SlackChannel) -> None:
    assert isinstance(channel, TakesTurns)


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(12)))
def test_what_is_ready_goes_out_in_the_order_of_the_questions(ready: list[int]) -> None:
    turns, went = ReplyOrder(at_once), list[int]()

    async def reply(number: int) -> None:
        async with turns.turn(asked(number)):
            went.append(number)
            await asyncio.sleep(0)

    async def run() -> None:
        for number in range(12):
            turns.begun(asked(number))
        await asyncio.gather(*(reply(number) for number in ready))

    asyncio.run(run())
    assert went == sorted(ready)


async def test_an_earlier_question_that_takes_long_is_waited_for_only_once() -> None:
    turns, went = ReplyOrder(at_once, patience_seconds=0.05), list[int]()
    loop = asyncio.get_running_loop()
    turns.begun(asked(1))
    began = loop.time()
    for number in (2, 3, 4):
        async with turns.turn(asked(number)):
            went.append(number)
    assert 0.05 <= loop.time() - began < 0.15
    async with turns.turn(asked(1)):
        went.append(1)
    assert went == [2, 3, 4, 1]


async def test_a_question_that_will_have_no_reply_is_waited_for_no_longer() -> None:
    turns = ReplyOrder(at_once, patience_seconds=30)
    turns.begun(asked(1))
    waiting = asyncio.create_task(_pass(turns, asked(2)))
    await asyncio.sleep(0)
    assert not waiting.done()
    turns.ended(asked(1))
    await asyncio.wait_for(waiting, 1)


async def test_an_earlier_one_that_becomes_ready_before_there_is_room_goes_first() -> None:
    room, went = asyncio.Event(), list[int]()

    async def opening(_: str) -> None:
        await room.wait()

    turns = ReplyOrder(opening)

    async def reply(number: int) -> None:
        async with turns.turn(asked(number)):
            went.append(number)

    tasks = [asyncio.create_task(reply(number)) for number in (5, 3, 4)]
    for _ in range(5):
        await asyncio.sleep(0)
    room.set()
    await asyncio.gather(*tasks)
    assert went == [3, 4, 5]


@pytest.mark.parametrize("steps", range(6))
async def test_who_gives_up_at_any_moment_leaves_the_turn_to_the_next(steps: int) -> None:
    turns = ReplyOrder(at_once)
    first = asyncio.create_task(_pass(turns, asked(1), hold=True))
    for _ in range(steps):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait_for(_pass(turns, asked(2)), 1)


async def test_a_turn_ends_also_with_an_error() -> None:
    turns = ReplyOrder(at_once)
    with pytest.raises(ValueError, match="broken"):
        async with turns.turn(asked(1)):
            raise ValueError("broken")
    await asyncio.wait_for(_pass(turns, asked(2)), 1)


async def test_channels_do_not_wait_for_each_other() -> None:
    turns = ReplyOrder(at_once)
    async with turns.turn(asked(2)):
        await asyncio.wait_for(_pass(turns, question(private=True)), 1)


async def test_a_press_comes_after_the_question_that_it_belongs_to() -> None:
    turns, went = ReplyOrder(at_once), list[str]()

    async def reply(message: Message) -> None:
        async with turns.turn(message):
            went.append(message.id)

    pressed = replace(asked(1), id=f"{asked(1).id}:person")
    await asyncio.gather(*(reply(message) for message in (asked(2), pressed, asked(1))))
    assert went == [asked(1).id, pressed.id, asked(2).id]


async def _pass(turns: ReplyOrder, message: Message, *, hold: bool = False) -> None:
    async with turns.turn(message):
        if hold:
            await asyncio.Event().wait()
