"""Slack shows Stop while the bot is at work in a thread, and at no other time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.messages import Activity, Message, Stage
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from tests.bot.adapters.outcomes import delivery
from tests.bot.adapters.slack.clock import Clock, unhurried
from tests.bot.adapters.slack.questions import HELP, ROOT, question, replies
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.house import until

SEARCHING, DONE = Activity(Stage.SEARCHING), Activity(Stage.DONE)
SESSION = "agents.sessions.setStatus"
THREAD = (HELP, ROOT)


def elsewhere(number: int) -> Message:
    """Return a question in a thread of its own."""
    ts = f"1700000000.{number:06d}"
    return replace(question(id=ts), thread=replace(question().thread, id=ts))


def told(slack: FakeSlack) -> list[str]:
    """Return what Slack was told of sessions, in order."""
    return [each.arguments["status"] for each in slack.requests if each.method == SESSION]


async def test_a_thread_is_at_work_until_the_reply_is_there(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    async with channel.session():
        await channel.progress(question(), SEARCHING, None)
        await until(lambda: slack.sessions.get(THREAD) == "processing")
        await channel.deliver(delivery(question()))

    assert slack.sessions == {THREAD: "active"}
    assert told(slack) == ["processing", "active"]


async def test_work_that_ends_before_slack_was_told_of_it_leaves_no_stop(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    async with channel.session():
        await channel.progress(question(), SEARCHING, None)
        await channel.deliver(delivery(question()))

    assert slack.sessions.get(THREAD, "active") == "active"


@pytest.mark.parametrize("silently", [False, True])
async def test_work_that_ends_without_a_reply_leaves_no_stop(
    slack: FakeSlack, channel: SlackChannel, *, silently: bool
) -> None:
    async with channel.session():
        await channel.progress(question(), SEARCHING, None)
        await until(lambda: slack.sessions.get(THREAD) == "processing")
        if silently:
            await channel.progress(question(), DONE, None)
        else:
            await channel.withdraw(question(), [])

    assert slack.sessions == {THREAD: "active"}


async def test_a_thread_is_at_work_as_long_as_one_of_its_questions_is(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    later = replace(question(), id="1700000000.000900")
    async with channel.session():
        await channel.progress(question(), SEARCHING, None)
        await channel.progress(later, SEARCHING, None)
        await until(lambda: slack.sessions.get(THREAD) == "processing")
        await channel.deliver(delivery(question()))
        channel.sessions.stopped(question().thread)
        assert told(slack) == ["processing"]
        await channel.deliver(delivery(later))

    assert told(slack) == ["processing", "active"]


async def test_what_another_process_was_at_work_on_is_over_with_its_reply(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.sessions[THREAD] = "processing"
    other = connect(settings, caller=unhurried())

    async with other.session():
        await other.deliver(delivery(question()))

    assert slack.sessions == {THREAD: "active"}


async def test_nothing_is_told_of_what_nobody_asked(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    overheard = replace(question(), overheard=True)
    async with channel.session():
        await channel.progress(overheard, SEARCHING, None)
        await channel.deliver(delivery(overheard))

    assert told(slack) == []


async def test_a_workspace_without_sessions_is_asked_again_after_ten_minutes(
    slack: FakeSlack, settings: Settings
) -> None:
    clock = Clock()
    channel = connect(settings, caller=clock.caller())
    slack.fail(SESSION, Fault(error="not_authorized"))
    async with channel.session():
        for number in range(3):
            asked = elsewhere(number)
            await channel.progress(asked, SEARCHING, None)
            await channel.deliver(delivery(asked))
            await until(lambda: told(slack))

    assert told(slack) == ["processing"]
    assert len([post for post in slack.posts if post.by_bot]) == 3


@pytest.mark.parametrize("error", ["invalid_thread_ts", "method_not_supported_for_channel_type"])
async def test_a_place_without_sessions_says_nothing_of_others(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail(SESSION, Fault(error=error))
    async with channel.session():
        await channel.progress(elsewhere(0), SEARCHING, None)
        await until(lambda: told(slack))
        await channel.progress(elsewhere(1), SEARCHING, None)
        await until(lambda: len(told(slack)) > 1)

    assert "processing" in slack.sessions.values()


async def test_a_herd_of_questions_waits_for_no_session(
    slack: FakeSlack, channel: SlackChannel, waits: list[float]
) -> None:
    slack.strict_rates = True
    async with channel.session():
        for number in range(60):
            await channel.progress(elsewhere(number), SEARCHING, None)

    assert not waits
    assert not slack.refused_for_rate
    assert 10 <= len(told(slack)) < 50


async def test_the_reply_comes_whatever_becomes_of_the_session(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail(SESSION, Fault(status=500), Fault(status=0), Fault(error="internal_error"))
    async with channel.session():
        await channel.progress(question(), SEARCHING, None)
        await channel.deliver(delivery(question()))

    assert len(replies(slack)) == 1
