"""What is taken back, and what is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.ports import Withdraws
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, delivery
from tests.bot.adapters.slack.clock import unhurried
from tests.bot.adapters.slack.questions import HELP, PEOPLE, ROOT, question, replies
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault

LONG = replace(ANSWER, text="\n\n".join("word " * 100 for _ in range(60)))


def test_slack_takes_replies_back(channel: SlackChannel) -> None:
    assert isinstance(channel, Withdraws)


@pytest.mark.parametrize("recorded", [True, False])
async def test_every_part_of_a_reply_goes_and_nothing_else(
    slack: FakeSlack, settings: Settings, *, recorded: bool
) -> None:
    slack.say(HELP, ROOT, 3)
    other = await connect(settings, caller=unhurried()).deliver(
        delivery(question(id="1700000000.000300"))
    )
    ref = await connect(settings, caller=unhurried()).deliver(delivery(question(), LONG))
    assert len(replies(slack)) > 2
    await connect(settings, caller=unhurried()).withdraw(question(), [ref] if recorded else [])
    assert [post.ts for post in replies(slack)] == [other.id]
    assert len(slack.in_thread(HELP, ROOT)) == 4


async def test_the_card_goes_too_for_its_words_are_the_askers(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.say(PEOPLE, None, 2)
    await connect(settings, caller=unhurried()).deliver(
        delivery(question(id="1700000000.000300"), HANDED_OVER)
    )
    ref = await connect(settings, caller=unhurried()).deliver(delivery(question(), HANDED_OVER))
    await connect(settings, caller=unhurried()).withdraw(question(), [ref])
    assert [post.part for post in slack.in_channel(PEOPLE)] == ["", "", "card"]
    assert len(replies(slack)) == 1


async def test_what_is_gone_already_is_no_error(slack: FakeSlack, channel: SlackChannel) -> None:
    ref = await channel.deliver(delivery(question()))
    slack.posts.clear()
    slack.gone.add(ROOT)
    await channel.withdraw(question(), [ref])
    await channel.withdraw(question(), [ref])
    assert slack.calls.count("chat.delete") == 2


async def test_each_message_is_deleted_once(slack: FakeSlack, channel: SlackChannel) -> None:
    ref = await channel.deliver(delivery(question()))
    await channel.withdraw(question(), [ref, ref])
    assert slack.calls.count("chat.delete") == 1


async def test_a_withdrawal_that_stopped_half_way_is_completed(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(), LONG))
    slack.fail("chat.delete", Fault(status=0, after=True))
    with pytest.raises(DeliveryFailed):
        await channel.withdraw(question(), [])
    assert replies(slack)
    await channel.withdraw(question(), [])
    assert not replies(slack)


async def test_what_may_never_be_deleted_is_given_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    ref = await channel.deliver(delivery(question()))
    slack.archived.add(HELP)
    with pytest.raises(DeliveryRefused, match="is_archived"):
        await channel.withdraw(question(), [ref])


async def test_a_recorded_reply_goes_even_where_nothing_can_be_looked_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    ref = await channel.deliver(delivery(question()))
    slack.fail("conversations.replies", Fault(error="missing_scope"))
    with pytest.raises(DeliveryFailed, match="missing_scope"):
        await channel.withdraw(question(), [ref])
    assert not replies(slack)
