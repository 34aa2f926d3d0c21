"""Test the status line, the reaction and the Stop session while a question is worked on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.messages import Activity, Message, Stage
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.store.database import Store
from tests.fakes.desk import delivery
from tests.fakes.slack.builders import HELP, ROOT, Clock, question, replies, unhurried
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.server import FakeSlack

SEARCHING, READING = Activity(Stage.SEARCHING), Activity(Stage.READING, pages=4)
STATUS, ADD, REMOVE = "assistant.threads.setStatus", "reactions.add", "reactions.remove"
REFUSED = Fault(error="not_allowed_token_type")


def seen(slack: FakeSlack) -> list[str]:
    """Return the calls, without those about sessions (test_sessions.py)."""
    return [call for call in slack.calls if not call.startswith("agents.")]


def eyes(slack: FakeSlack, ts: str = ROOT) -> bool:
    post = slack.message_at(HELP, ts)
    return post is not None and "eyes" in post.reactions


async def shown(channel: SlackChannel, message: Message, *activities: Activity) -> None:
    for activity in activities:
        await channel.progress(message, activity, None)


async def test_activities_show_as_a_status_line(slack: FakeSlack, channel: SlackChannel) -> None:
    await shown(channel, question(), SEARCHING, READING)
    assert slack.statuses == ["is searching the wiki \u2026", "is reading 4 pages \u2026"]
    assert not slack.posts
    assert not eyes(slack)


async def test_what_is_shown_already_is_not_shown_again(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await shown(channel, question(), SEARCHING, SEARCHING, SEARCHING)
    assert seen(slack) == [STATUS]


async def test_nothing_is_shown_to_people_who_did_not_ask(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await shown(channel, replace(question(), overheard=True), SEARCHING, READING)
    assert not slack.calls


@pytest.mark.parametrize("error", ["not_allowed_token_type", "missing_scope", "thread_not_found"])
async def test_a_question_is_marked_once_where_there_is_no_status_line(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail(STATUS, Fault(error=error))
    await shown(channel, question(), SEARCHING, READING, Activity(Stage.CHECKING))
    assert seen(slack) == [STATUS, ADD]
    assert eyes(slack)
    assert not slack.posts


async def test_the_mark_goes_once_the_reply_is_there(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail(STATUS, REFUSED)
    async with channel.session():
        await shown(channel, question(), SEARCHING)
        await channel.deliver(delivery(question()))
    assert len(replies(slack)) == 1
    assert not eyes(slack)
    assert slack.calls.index("chat.postMessage") < slack.calls.index(REMOVE)


@pytest.mark.mended(id="teams-2")
async def test_a_mark_goes_also_after_a_lost_response(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail(STATUS, REFUSED)
    slack.fail(REMOVE, Fault(status=0), Fault(status=500))
    async with channel.session():
        await shown(channel, question(), SEARCHING)
        await channel.deliver(delivery(question()))
    assert not eyes(slack)


async def test_another_process_takes_the_mark_away(
    slack: FakeSlack, settings: Settings, store: Store
) -> None:
    await store.work.open(question(), "one")
    slack.fail(STATUS, REFUSED)
    await shown(connect(settings, store.notes, caller=unhurried()), question(), SEARCHING)
    assert eyes(slack)
    other = connect(settings, store.notes, caller=unhurried())
    async with other.session():
        await other.deliver(delivery(question()))
    assert not eyes(slack)
    assert await store.notes.beginning("acme", "slack:eyes") == {}


async def test_a_mark_that_is_there_or_gone_already_is_no_trouble(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail(STATUS, REFUSED)
    slack.fail(ADD, Fault(error="already_reacted"))
    slack.fail(REMOVE, Fault(error="no_reaction"))
    async with channel.session():
        await shown(channel, question(), SEARCHING)
        await channel.deliver(delivery(question()))
    assert len(replies(slack)) == 1


async def test_a_workspace_without_status_lines_is_asked_again_after_ten_minutes(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail(STATUS, REFUSED)
    for number in range(3):
        await shown(channel, question(id=f"1700000000.00010{number}"), SEARCHING)
    assert slack.calls.count(STATUS) == 1


@pytest.mark.parametrize(
    "error", ["thread_not_found", "invalid_thread_ts", "method_not_supported_for_channel_type"]
)
async def test_a_thread_without_a_status_line_says_nothing_of_others(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail(STATUS, Fault(error=error))
    await shown(channel, question(id="1700000000.000300"), SEARCHING)
    await shown(channel, question(), SEARCHING)
    assert slack.statuses == ["is searching the wiki \u2026"]


async def test_a_status_line_is_left_out_while_slack_wants_no_more(
    slack: FakeSlack, channel: SlackChannel, clock: Clock
) -> None:
    slack.fail(STATUS, Fault(status=429, error="ratelimited", retry_after="20"))
    await shown(channel, question(), SEARCHING, READING)
    assert seen(slack) == [STATUS]
    clock.now += 20
    await shown(channel, question(), Activity(Stage.CHECKING))
    assert slack.statuses == ["is checking sources \u2026"]
    assert not clock.waits
    assert not eyes(slack)


async def test_a_herd_of_questions_waits_for_no_status_line(
    slack: FakeSlack, channel: SlackChannel, waits: list[float]
) -> None:
    slack.strict_rates = True
    for number in range(150):
        await shown(channel, question(id=f"1700000000.{number:06d}"), SEARCHING)
    assert not waits
    assert not slack.refused_for_rate
    assert 30 <= len(slack.statuses) <= 60


@pytest.mark.parametrize("refused", [False, True])
async def test_a_withdrawn_question_keeps_neither_status_nor_mark(
    slack: FakeSlack, channel: SlackChannel, *, refused: bool
) -> None:
    slack.fail(STATUS, *[REFUSED] * refused)
    await shown(channel, question(), SEARCHING)
    assert eyes(slack) == refused
    await channel.withdraw(question(), [])
    assert not eyes(slack)
    assert slack.statuses[-1:] == ([] if refused else [""])


async def test_work_that_ends_in_silence_leaves_nothing_shown(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await shown(channel, question(), SEARCHING, Activity(Stage.DONE))
    assert slack.statuses == ["is searching the wiki \u2026", ""]


async def test_a_press_marks_the_message_it_was_made_on(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail(STATUS, REFUSED)
    pressed = replace(question(), id=f"{ROOT}:person")
    await shown(channel, pressed, SEARCHING)
    assert eyes(slack)
    assert await channel.link(pressed) == await channel.link(question())
