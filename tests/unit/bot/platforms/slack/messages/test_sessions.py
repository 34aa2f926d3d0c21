"""Test what Slack is told of agent sessions: Stop, what they are called, and who began them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bot.domain.messages import Activity, Message, Stage
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.payloads.events import shortcut_reply_to
from tests.fakes.desk import delivery
from tests.fakes.http_server import wait_until
from tests.fakes.slack import names
from tests.fakes.slack.builders import HELP, ROOT, Clock, question, replies, unhurried
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.server import FakeSlack

AT_WORK, DONE = Activity(Stage.SEARCHING), Activity(Stage.DONE)
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
        await channel.progress(question(), AT_WORK, None)
        await wait_until(lambda: slack.sessions.get(THREAD) == "processing")
        await channel.deliver(delivery(question()))

    assert slack.sessions == {THREAD: "active"}
    assert told(slack) == ["processing", "active"]


async def test_work_that_ends_before_slack_was_told_of_it_leaves_no_stop(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    async with channel.session():
        await channel.progress(question(), AT_WORK, None)
        await channel.deliver(delivery(question()))

    assert slack.sessions.get(THREAD, "active") == "active"


@pytest.mark.parametrize("silently", [False, True])
async def test_work_that_ends_without_a_reply_leaves_no_stop(
    slack: FakeSlack, channel: SlackChannel, *, silently: bool
) -> None:
    async with channel.session():
        await channel.progress(question(), AT_WORK, None)
        await wait_until(lambda: slack.sessions.get(THREAD) == "processing")
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
        await channel.progress(question(), AT_WORK, None)
        await channel.progress(later, AT_WORK, None)
        await wait_until(lambda: slack.sessions.get(THREAD) == "processing")
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
        await channel.progress(overheard, AT_WORK, None)
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
            await channel.progress(asked, AT_WORK, None)
            await channel.deliver(delivery(asked))
            await wait_until(lambda: told(slack))

    assert told(slack) == ["processing"]
    assert len([post for post in slack.posts if post.by_bot]) == 3


@pytest.mark.parametrize("error", ["invalid_thread_ts", "method_not_supported_for_channel_type"])
async def test_a_place_without_sessions_says_nothing_of_others(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail(SESSION, Fault(error=error))
    async with channel.session():
        await channel.progress(elsewhere(0), AT_WORK, None)
        await wait_until(lambda: told(slack))
        await channel.progress(elsewhere(1), AT_WORK, None)
        await wait_until(lambda: len(told(slack)) > 1)

    assert "processing" in slack.sessions.values()


async def test_a_herd_of_questions_waits_for_no_session(
    slack: FakeSlack, channel: SlackChannel, waits: list[float]
) -> None:
    slack.strict_rates = True
    async with channel.session():
        for number in range(60):
            await channel.progress(elsewhere(number), AT_WORK, None)

    assert not waits
    assert not slack.refused_for_rate
    assert 10 <= len(told(slack)) < 50


async def test_the_reply_comes_whatever_becomes_of_the_session(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail(SESSION, Fault(status=500), Fault(status=0), Fault(error="internal_error"))
    async with channel.session():
        await channel.progress(question(), AT_WORK, None)
        await channel.deliver(delivery(question()))

    assert len(replies(slack)) == 1


def begun(slack: FakeSlack, count: int) -> bool:
    return len(slack.sessions) == count


async def at_work_on(slack: FakeSlack, channel: SlackChannel, asked: Message) -> dict[str, str]:
    """Return what Slack was told first of the session of a question."""
    async with channel.session():
        await channel.progress(asked, AT_WORK, None)
        await wait_until(lambda: "processing" in slack.sessions.values())
    return next(each.arguments for each in slack.requests if each.method == SESSION)


def opening(text: str = "How do I get a parking space?") -> Message:
    """Return a question that opened its thread."""
    return replace(question(id=ROOT), text=text)


async def test_a_session_is_called_as_its_first_question(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    first = await at_work_on(slack, channel, opening())
    assert first["title"] == "How do I get a parking space?"
    assert first["initiator_user_id"] == names.ALICE


async def test_a_long_question_gives_a_short_title(slack: FakeSlack, channel: SlackChannel) -> None:
    first = await at_work_on(slack, channel, opening("why <!channel> is the\nVPN slow " * 20))
    assert len(first["title"]) <= 60
    assert not {"<", ">", "\n"} & set(first["title"])


@pytest.mark.parametrize(
    "other",
    [
        replace(opening(), id="1700000000.000900"),
        replace(opening(), id=f"{ROOT}:pointed"),
        replace(opening(), reply_to=shortcut_reply_to()),
    ],
    ids=["a follow-up", "a message pointed at in private", "a message pointed at"],
)
async def test_no_session_is_called_by_the_words_of_others(
    slack: FakeSlack, channel: SlackChannel, other: Message
) -> None:
    first = await at_work_on(slack, channel, other)
    assert "title" not in first
    assert first["initiator_user_id"] == names.ALICE


async def test_fields_refused_by_name_are_left_out_from_then_on(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.refused_fields = frozenset({"initiator_user_id"})
    async with channel.session():
        for number in range(2):
            await channel.progress(elsewhere(number), AT_WORK, None)
            await wait_until(partial(begun, slack, number + 1))

    fields = [set(each.arguments) for each in slack.requests if each.method == SESSION]
    assert ["initiator_user_id" in each for each in fields] == [True, False, False]


async def test_an_asker_unknown_to_slack_costs_no_other_its_title(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    stranger = replace(opening(), author=replace(opening().author, id="U0UNKNOWN"))
    await at_work_on(slack, channel, stranger)
    slack.requests.clear()
    async with channel.session():
        await channel.progress(elsewhere(1), AT_WORK, None)
        await wait_until(lambda: len(slack.sessions) == 2)
    told_of = [each.arguments for each in slack.requests if each.method == SESSION]
    assert "initiator_user_id" in told_of[0]
