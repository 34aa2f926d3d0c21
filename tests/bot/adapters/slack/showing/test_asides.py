"""Answers at response addresses: Slack's own only, each a few times."""

from __future__ import annotations

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.platforms.slack.messages.response_urls import ResponseUrls
from bot.platforms.slack.rendering import section
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.interactions import response_url
from tests.bot.adapters.slack.workspace.names import ALICE, ELSEWHERE, HELP


@pytest.fixture
def asides(api: AsyncWebClient) -> ResponseUrls:
    return ResponseUrls(api)


async def test_something_is_said_to_one_person_in_a_thread(
    slack: FakeSlack, asides: ResponseUrls
) -> None:
    await asides.tell(response_url(slack, ALICE, HELP, None), "hello", thread="1.1")
    (post,) = slack.posts
    assert (post.only_for, post.thread_ts, post.shown) == (ALICE, "1.1", "hello")
    assert post.payload["unfurl_links"] is False


async def test_it_is_said_where_the_bot_is_not(slack: FakeSlack, asides: ResponseUrls) -> None:
    await asides.tell(response_url(slack, ALICE, ELSEWHERE, None), "hello")
    assert slack.posts[0].channel == ELSEWHERE


async def test_what_was_pressed_on_is_replaced(slack: FakeSlack, asides: ResponseUrls) -> None:
    url = response_url(slack, ALICE, HELP, None)
    await asides.tell(url, "before", [section("before")])
    shown = response_url(slack, ALICE, HELP, slack.posts[0].ts)
    await asides.replace(shown, "after")
    assert [post.shown for post in slack.posts] == ["after"]


async def test_an_address_that_is_used_up_is_used_no_more(
    slack: FakeSlack, asides: ResponseUrls
) -> None:
    url = response_url(slack, ALICE, HELP, None)
    for _ in range(5):
        await asides.tell(url, "hello")
    with pytest.raises(DeliveryRefused):
        await asides.tell(url, "hello")


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=0)])
async def test_what_did_not_get_through_is_an_error(
    slack: FakeSlack, asides: ResponseUrls, fault: Fault
) -> None:
    slack.fail("response_url", fault)
    with pytest.raises(DeliveryFailed):
        await asides.tell(response_url(slack, ALICE, HELP, None), "hello")


@pytest.mark.parametrize(
    "url",
    ["", "https://evil.example/x", "https://hooks.slack.com@evil.example/x", "http://[", "hooks"],
)
async def test_nothing_is_sent_to_anybody_else(asides: ResponseUrls, url: str) -> None:
    with pytest.raises(DeliveryRefused, match="not Slack's"):
        await asides.tell(url, "hello")
