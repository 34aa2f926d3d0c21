"""A reply is seen once, whatever process began it and whatever Slack answered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.handoff import ON_HELP_DESK_LIST
from bot.domain.interactions import PostedRef
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, delivery
from tests.bot.adapters.slack.clock import Clock, unhurried
from tests.bot.adapters.slack.questions import DIRECT, HELP, PEOPLE, ROOT, question, replies
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault

LONG = replace(ANSWER, text="\n\n".join(f"Step {n}: " + "word " * 100 for n in range(60)))
LOST = Fault(status=0, after=True)
LOOK_UPS = {"conversations.replies", "conversations.history"}


def looked_up(slack: FakeSlack) -> int:
    return sum(call in LOOK_UPS for call in slack.calls)


def parts(slack: FakeSlack) -> list[str]:
    return [post.part for post in replies(slack)]


async def test_a_first_delivery_looks_nothing_up(slack: FakeSlack, channel: SlackChannel) -> None:
    for number in range(3):
        await channel.deliver(delivery(question(id=f"1700000000.00010{number}"), HANDED_OVER))
    assert looked_up(slack) == 0
    assert len(replies(slack)) == len(slack.in_channel(PEOPLE)) == 3


@pytest.mark.parametrize("private", [False, True])
async def test_another_process_finds_the_last_part(
    slack: FakeSlack, settings: Settings, *, private: bool
) -> None:
    sent = delivery(question(private=private), LONG)
    ref = await connect(settings, caller=unhurried()).deliver(sent)
    assert len(slack.posts) > 1
    assert ref == PostedRef(DIRECT if private else HELP, slack.posts[-1].ts)
    assert await connect(settings, caller=unhurried()).find(sent) == ref


async def test_nothing_is_found_of_what_was_never_posted(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question()))
    other = question(id="1700000000.000200")
    assert await channel.find(delivery(other)) is None
    assert await channel.find(replace(delivery(question()), id="another")) is None
    assert len(slack.posts) == 1


async def test_a_reply_that_was_taken_without_saying_so_is_found(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question())
    slack.fail("chat.postMessage", LOST)
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    (post,) = replies(slack)
    assert await channel.find(sent) == PostedRef(HELP, post.ts)


async def test_only_missing_parts_are_added_after_a_restart(
    slack: FakeSlack, settings: Settings
) -> None:
    sent = delivery(question(), LONG)
    slack.fail("chat.postMessage", LOST)
    with pytest.raises(DeliveryFailed):
        await connect(settings, caller=unhurried()).deliver(sent)
    channel = connect(settings, caller=unhurried())
    assert await channel.find(sent) is None
    ref = await channel.deliver(sent)
    assert looked_up(slack) == 1
    assert parts(slack) == [str(n) for n in range(1, len(parts(slack)) + 1)]
    assert ref.id == replies(slack)[-1].ts


async def test_a_card_that_went_out_alone_is_not_repeated(
    slack: FakeSlack, settings: Settings
) -> None:
    sent = delivery(question(), HANDED_OVER)
    slack.fail("chat.postMessage", LOST)
    with pytest.raises(DeliveryFailed):
        await connect(settings, caller=unhurried()).deliver(sent)
    channel = connect(settings, caller=unhurried())
    assert await channel.find(sent) is None
    await channel.deliver(sent)
    assert len(slack.in_channel(PEOPLE)) == len(replies(slack)) == 1
    assert "I've asked the people" in replies(slack)[0].shown


async def test_a_reply_that_told_of_no_card_is_complete(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.channels.remove(PEOPLE)
    sent = delivery(question(), HANDED_OVER)
    ref = await connect(settings, caller=unhurried()).deliver(sent)
    slack.channels.add(PEOPLE)
    assert await connect(settings, caller=unhurried()).find(sent) == ref


async def test_a_people_channel_without_the_bot_does_not_hold_up_the_reply(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.channels.remove(PEOPLE)
    sent = delivery(question(), HANDED_OVER)
    slack.fail("chat.postMessage", Fault(error="not_in_channel"), Fault(status=500))
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    assert await channel.find(sent) is None
    await channel.deliver(sent)
    assert ON_HELP_DESK_LIST in replies(slack)[0].shown


async def test_people_are_asked_after_an_outage_and_not_given_up_on(
    slack: FakeSlack, channel: SlackChannel, clock: Clock
) -> None:
    sent = delivery(question(), HANDED_OVER)
    slack.fail("chat.postMessage", Fault(status=429, error="ratelimited", retry_after="30"))
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    assert not slack.posts
    assert await channel.find(sent) is None
    clock.now += 30
    await channel.deliver(sent)
    assert len(slack.in_channel(PEOPLE)) == 1
    assert "I've asked the people" in replies(slack)[0].shown


async def test_repeating_without_looking_up_first_duplicates_nothing_in_one_process(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question(), HANDED_OVER)
    first = await channel.deliver(sent)
    assert await channel.deliver(sent) == first
    assert len(slack.posts) == 2


async def test_a_busy_thread_and_a_busy_channel_are_read_to_the_end(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.page_size = 10
    slack.say(HELP, ROOT, 55)
    sent = delivery(question(), HANDED_OVER)
    ref = await connect(settings, caller=unhurried()).deliver(sent)
    slack.say(PEOPLE, None, 55)
    channel = connect(settings, caller=unhurried())
    assert await channel.find(sent) == ref
    slack.posts.remove(replies(slack)[0])
    assert await channel.find(sent) is None
    await channel.deliver(sent)
    assert len(replies(slack)) == 1
    assert sum(post.part == "card" for post in slack.in_channel(PEOPLE)) == 1


async def test_looking_up_has_an_end(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.page_size = 5
    slack.say(HELP, ROOT, 100)
    assert await channel.find(delivery(question())) is None
    assert looked_up(slack) == 10


async def test_a_look_up_that_fails_is_not_taken_for_an_absence(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question())
    await channel.deliver(sent)
    slack.fail("conversations.replies", Fault(error="missing_scope"))
    with pytest.raises(DeliveryFailed, match="Add the scope"):
        await channel.find(sent)


async def test_a_question_that_was_deleted_has_no_reply(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.gone.add(ROOT)
    assert await channel.find(delivery(question())) is None
