"""Two hundred questions at once in one channel: answered in order, and Slack has to refuse none."""

from __future__ import annotations

import asyncio
import random

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Delivery
from bot.domain.messages import Activity, Stage
from bot.platforms.slack.channel import SlackChannel
from tests.bot.adapters.outcomes import delivery
from tests.bot.adapters.slack.clock import Clock
from tests.bot.adapters.slack.questions import question, replies
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault

BURST = 200


@pytest.fixture
def asked() -> list[Delivery]:
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


async def all_at_once(channel: SlackChannel, asked: list[Delivery]) -> None:
    for sent in asked:
        await channel.progress(sent.message, Activity(Stage.SEARCHING), None)
    ready = random.Random(7).sample(asked, len(asked))  # noqa: S311 - an order, nothing secret
    await asyncio.gather(*(reply(channel, sent) for sent in ready))


async def test_a_burst_is_answered_in_order_and_nothing_is_refused(
    busy: FakeSlack, channel: SlackChannel, clock: Clock, asked: list[Delivery]
) -> None:
    async with channel.session():
        await all_at_once(channel, asked)
    assert answered(busy) == [sent.interaction_id for sent in asked]
    assert busy.refused_for_rate == 0
    assert clock.now - 1_000 < BURST + 10


async def test_one_that_slack_puts_off_is_neither_lost_nor_doubled_nor_overtaken(
    busy: FakeSlack, channel: SlackChannel, asked: list[Delivery]
) -> None:
    far = Fault(status=429, error="ratelimited", retry_after="7")
    near = Fault(status=429, error="ratelimited", retry_after="1")
    busy.fail("chat.postMessage", *[None] * 20, far, *[None] * 30, near, None, near)
    async with channel.session():
        await all_at_once(channel, asked)
    assert answered(busy) == [sent.interaction_id for sent in asked]


async def test_answers_that_slack_took_without_saying_so_are_there_once(
    busy: FakeSlack, channel: SlackChannel, asked: list[Delivery]
) -> None:
    lost = Fault(status=0, after=True)
    busy.fail("chat.postMessage", *[None] * 20, lost, *[None] * 30, lost)
    async with channel.session():
        await all_at_once(channel, asked)
    assert answered(busy) == [sent.interaction_id for sent in asked]
