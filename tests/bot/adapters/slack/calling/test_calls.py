"""What Slack's answers mean: wait here, wait in the inbox, or give up."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.client.errors import RateLimited, ResultUnknown
from tests.bot.adapters.outcomes import delivery
from tests.bot.adapters.slack.questions import question, replies
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault


def limited(seconds: str) -> Fault:
    return Fault(status=429, error="ratelimited", retry_after=seconds)


async def test_a_short_limit_is_waited_out(
    slack: FakeSlack, channel: SlackChannel, waits: list[float]
) -> None:
    slack.fail("chat.postMessage", limited("1"), limited(""))
    await channel.deliver(delivery(question()))
    assert waits == [1.0, 1.0]
    assert len(replies(slack)) == 1


@pytest.mark.parametrize(("asked", "faults"), [("3", 1), ("3600", 1), ("1", 3), ("0", 5)])
async def test_a_longer_limit_goes_back_with_its_time(
    slack: FakeSlack, channel: SlackChannel, waits: list[float], asked: str, faults: int
) -> None:
    slack.fail("chat.postMessage", *[limited(asked)] * faults)
    with pytest.raises(DeliveryFailed, match="rate limit") as failed:
        await channel.deliver(delivery(question()))
    assert failed.value.retry_after_seconds == max(float(asked), 0.5)
    assert sum(waits) <= 2.0
    assert not slack.posts


@pytest.mark.parametrize("retry_after", ["soon", "nan", "-5"])
async def test_a_limit_that_cannot_be_read_is_waited_out_all_the_same(
    slack: FakeSlack, channel: SlackChannel, waits: list[float], retry_after: str
) -> None:
    slack.fail("chat.postMessage", limited(retry_after))
    await channel.deliver(delivery(question()))
    assert len(waits) == 1
    assert 0.0 < waits[0] <= 1.0


@pytest.mark.parametrize(
    "error",
    [
        "channel_not_found",
        "not_in_channel",
        "invalid_auth",
        "token_revoked",
        "token_expired",
        "account_inactive",
        "missing_scope",
        "restricted_action",
        "messages_tab_disabled",
        "something_new_in_2030",
    ],
)
async def test_what_an_admin_can_mend_is_tried_again_later(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail("chat.postMessage", Fault(error=error))
    with pytest.raises(DeliveryFailed, match=error) as failed:
        await channel.deliver(delivery(question()))
    assert not isinstance(failed.value, DeliveryRefused | ResultUnknown)


@pytest.mark.parametrize(
    "error",
    [
        "is_archived",
        "cannot_reply_to_message",
        "restricted_action_thread_locked",
        "thread_not_found",
        "user_disabled",
    ],
)
async def test_what_will_not_change_is_given_up(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail("chat.postMessage", Fault(error=error))
    with pytest.raises(DeliveryRefused, match=error):
        await channel.deliver(delivery(question()))


async def test_a_message_that_slack_takes_in_no_form_is_given_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postMessage", *[Fault(error="msg_too_long")] * 7)
    with pytest.raises(DeliveryRefused, match="every form"):
        await channel.deliver(delivery(question()))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500, after=True),
        Fault(status=502, page="<html>bad gateway</html>"),
        Fault(status=200, page="please sign in to the hotel network"),
        Fault(status=0, after=True),
        Fault(error="fatal_error", after=True),
        Fault(error="internal_error"),
    ],
    ids=["500", "proxy's 502", "captive portal", "cut", "fatal_error", "internal_error"],
)
async def test_an_answer_that_does_not_tell_leaves_slack_time_to_list_what_it_took(
    slack: FakeSlack, channel: SlackChannel, fault: Fault
) -> None:
    slack.fail("chat.postMessage", fault)
    with pytest.raises(ResultUnknown) as failed:
        await channel.deliver(delivery(question()))
    assert failed.value.retry_after_seconds == 2.0
    assert slack.calls == ["chat.postMessage"]


async def test_a_slack_that_is_not_there_fails(settings: Settings) -> None:
    away = settings.model_copy(update={"slack_api_url": "http://127.0.0.1:1/api/"})
    with pytest.raises(DeliveryFailed, match="cannot be reached") as failed:
        await connect(away).deliver(delivery(question()))
    assert not isinstance(failed.value, ResultUnknown | DeliveryRefused)


async def test_a_turn_that_takes_too_long_to_come_is_given_up_and_nothing_is_sent() -> None:
    sent: list[int] = []

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    async def send() -> AsyncSlackResponse:
        sent.append(1)
        return cast("AsyncSlackResponse", {})

    caller = ApiCaller(never)
    for _ in range(30):
        await caller.call("users.info", send, turn_seconds=0.01)
    for _ in range(2):
        with pytest.raises(RateLimited):
            await caller.call("users.info", send, turn_seconds=0.01)
    assert len(sent) == 30
