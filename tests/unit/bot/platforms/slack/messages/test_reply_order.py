"""Test that replies in a channel keep the order of their questions, alone and in a burst."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.router import Router
from bot.domain.errors import DeliveryFailed
from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Delivery
from bot.domain.messages import Activity, Message, Stage
from bot.domain.ports import TakesTurns
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.messages.progress import ReplyOrder
from bot.store.database import Store
from ingestion.sync.sync import Folder, sync_folder
from rag.answer.extractive import ExtractiveComposer
from rag.index.embedded.index import EmbeddedIndex, fingerprint_of, open_index
from rag.pipeline import Pipeline
from tests.fakes.desk import TENANT, delivery
from tests.fakes.http_server import PAGES, wait_until
from tests.fakes.rag_ports import WordEmbedder
from tests.fakes.slack.builders import Clock, bot_at, question, replies
from tests.fakes.slack.events import deliver
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import HELP
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor
from tests.sweeps.sizes import sizes


async def at_once(_: str) -> None:
    await asyncio.sleep(0)


STEPS_OF_A_TURN = 10
"""Steps of the event loop in which a turn that waits for nothing has come and gone."""


def asked(number: int) -> Message:
    return question(id=f"1700000000.{number:06d}")


def test_slack_takes_turns(channel: SlackChannel) -> None:
    assert isinstance(channel, TakesTurns)


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

    async def reply(number: int) -> None:
        async with turns.turn(asked(number)):
            went.append(number)

    turns.begun(asked(1))
    await reply(2)
    for number in (3, 4, 1):
        later = asyncio.create_task(reply(number))
        for _ in range(STEPS_OF_A_TURN):
            await asyncio.sleep(0)
        assert later.done(), f"{number} waits for the first question once more"
        await later
    assert went == [2, 3, 4, 1]


async def test_a_question_that_will_have_no_reply_is_waited_for_no_longer() -> None:
    turns = ReplyOrder(at_once, patience_seconds=600)
    turns.begun(asked(1))
    waiting = asyncio.create_task(_pass(turns, asked(2)))
    await asyncio.sleep(0)
    assert not waiting.done()
    turns.ended(asked(1))
    await asyncio.wait_for(waiting, 60)


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
    await asyncio.wait_for(_pass(turns, asked(2)), 60)


async def test_a_turn_ends_also_with_an_error() -> None:
    turns = ReplyOrder(at_once)
    with pytest.raises(ValueError, match="broken"):
        async with turns.turn(asked(1)):
            raise ValueError("broken")
    await asyncio.wait_for(_pass(turns, asked(2)), 60)


async def test_channels_do_not_wait_for_each_other() -> None:
    turns = ReplyOrder(at_once)
    async with turns.turn(asked(2)):
        await asyncio.wait_for(_pass(turns, question(private=True)), 60)


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


BURST = 200


@pytest.fixture
def burst_questions() -> list[Delivery]:
    return [delivery(question(id=f"1700000000.{number:06d}")) for number in range(BURST)]


@pytest.fixture
def busy(slack: FakeSlack, clock: Clock) -> FakeSlack:
    """The workspace, as strict as Slack and living by the clock of the test."""
    slack.now, slack.strict_rates = clock.read, True
    return slack


async def reply(channel: SlackChannel, sent: Delivery) -> None:
    """Do as the inbox does: a turn for each attempt, and a look before each but the first."""
    again = False
    while True:
        try:
            async with channel.turn(sent.message):
                if not (again and await channel.find(sent)):
                    await channel.deliver(sent)
                return
        except DeliveryFailed:
            again = True


def answered(slack: FakeSlack) -> list[str]:
    """Return whose answers there are, in the order of the channel."""
    return [post.payload["metadata"]["event_payload"]["interaction_id"] for post in replies(slack)]


async def all_at_once(channel: SlackChannel, burst_questions: list[Delivery]) -> None:
    for sent in burst_questions:
        await channel.progress(sent.message, Activity(Stage.SEARCHING), None)
    ready = random.Random(7).sample(burst_questions, len(burst_questions))  # noqa: S311 - an order, nothing secret
    await asyncio.gather(*(reply(channel, sent) for sent in ready))


async def test_a_burst_is_answered_in_order_and_nothing_is_refused(
    busy: FakeSlack, channel: SlackChannel, clock: Clock, burst_questions: list[Delivery]
) -> None:
    async with channel.session():
        await all_at_once(channel, burst_questions)
    assert answered(busy) == [sent.interaction_id for sent in burst_questions]
    assert busy.refused_for_rate == 0
    assert clock.now - 1_000 < BURST + 10


async def test_one_that_slack_puts_off_is_neither_lost_nor_doubled_nor_overtaken(
    busy: FakeSlack, channel: SlackChannel, burst_questions: list[Delivery]
) -> None:
    far = Fault(status=429, error="ratelimited", retry_after="7")
    near = Fault(status=429, error="ratelimited", retry_after="1")
    busy.fail("chat.postMessage", *[None] * 20, far, *[None] * 30, near, None, near)
    async with channel.session():
        await all_at_once(channel, burst_questions)
    assert answered(busy) == [sent.interaction_id for sent in burst_questions]


async def test_answers_that_slack_took_without_saying_so_are_there_once(
    busy: FakeSlack, channel: SlackChannel, burst_questions: list[Delivery]
) -> None:
    lost = Fault(status=0, after=True)
    busy.fail("chat.postMessage", *[None] * 20, lost, *[None] * 30, lost)
    async with channel.session():
        await all_at_once(channel, burst_questions)
    assert answered(busy) == [sent.interaction_id for sent in burst_questions]


@sizes("burst", smoke=20, whole=BURST)
async def test_a_burst_of_mentions_is_taken_and_answered_in_order_and_once(
    burst: int, slack: FakeSlack, channel: SlackChannel, clock: Clock, store: Store, tmp_path: Path
) -> None:
    slack.now, slack.strict_rates = clock.read, True
    embedder = WordEmbedder()
    index = await open_index(tmp_path / "index.sqlite", fingerprint_of(embedder))
    written(tmp_path / "pages")
    folder = Folder(tmp_path / "pages", "IT")
    await sync_folder(folder, index, embedder, tenant=TENANT, data_dir=tmp_path)
    async with channel.session(), bot_at(slack, channel, store, desk_over(index, embedder)) as bot:
        alice = Visitor(slack, bot.client)
        alice.held = []
        asked = [
            await alice.say(HELP, "What does vpn error 809 mean?", mention=True)
            for _ in range(burst)
        ]
        answers = await deliver(alice.door, alice.held, at_once=True)
        await wait_until(lambda: len(slack.answers(HELP)) >= burst, seconds=10 * burst)
    await index.close()

    replies = slack.answers(HELP)
    assert {answer.status for answer in answers} == {200}, "0 is one that was not taken in time"
    assert [post.thread_ts for post in replies] == asked
    assert all("blue socket" in post.shown for post in replies)
    assert slack.refused_for_rate == 0


def written(folder: Path) -> None:
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")


def desk_over(index: EmbeddedIndex, embedder: WordEmbedder) -> Desk:
    return Desk(
        ModelProfile(
            route=Router(embedder, None, None).route,
            reply_generically=GenericAnswers(None).reply,
            pipeline=Pipeline(index, embedder, ExtractiveComposer(embedder)),
        ),
        gate=load_gate(0.0).judge,
        wording=HandoffWording(not_found="Not found.", uncertain="Not sure."),
    )
