"""Test private replies at response URLs: to their sender alone, and no part twice."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy
from pydantic import SecretStr
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.errors import DeliveryFailed, DeliveryRefused, RateLimited
from bot.domain.handoff import HANDOFF_OFFER
from bot.domain.interactions import Delivery, Response
from bot.domain.messages import Message
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.payloads.events import is_command
from bot.platforms.slack.payloads.response_urls import ResponseUrls
from bot.platforms.slack.rendering import MessageForm, section
from bot.store.database import Store
from tests.fakes.desk import ANSWER, HANDED_OVER, delivery
from tests.fakes.slack.builders import HELP, PEOPLE, question, unhurried
from tests.fakes.slack.events import ALICE, SECRET
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.interactions import response_url
from tests.fakes.slack.names import ALICE as ALICE_ID
from tests.fakes.slack.names import ELSEWHERE, TOKEN
from tests.fakes.slack.names import HELP as HELP_ROOM
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack

HELLO = (MessageForm("hello"),)
LONG = replace(ANSWER, text="\n\n".join(f"{n}: " + "word " * 100 for n in range(60)))
LOST = Fault(status=0, after=True)
LIMITED = Fault(status=429, retry_after="30")


@pytest.fixture
def client(api: AsyncWebClient) -> SlackClient:
    return SlackClient(api, unhurried())


async def test_something_is_said_to_one_person_in_a_thread(
    slack: FakeSlack, client: SlackClient
) -> None:
    await client.respond(response_url(slack, ALICE_ID, HELP_ROOM, None), HELLO, thread_ts="1.1")
    (post,) = slack.posts
    assert (post.only_for, post.thread_ts, post.shown) == (ALICE_ID, "1.1", "hello")
    assert post.payload["unfurl_links"] is False


async def test_it_is_said_where_the_bot_is_not(slack: FakeSlack, client: SlackClient) -> None:
    await client.respond(response_url(slack, ALICE_ID, ELSEWHERE, None), HELLO)
    assert slack.posts[0].channel == ELSEWHERE


async def test_what_was_pressed_on_is_replaced(slack: FakeSlack, client: SlackClient) -> None:
    url = response_url(slack, ALICE_ID, HELP_ROOM, None)
    await client.respond(url, (MessageForm("before", (section("blocks before"),)),))
    shown = response_url(slack, ALICE_ID, HELP_ROOM, slack.posts[0].ts)
    await client.respond(shown, (MessageForm("after"),), replace=True)
    assert [post.shown for post in slack.posts] == ["after"]


async def test_an_address_that_is_used_up_is_used_no_more(
    slack: FakeSlack, client: SlackClient
) -> None:
    url = response_url(slack, ALICE_ID, HELP_ROOM, None)
    for _ in range(5):
        await client.respond(url, HELLO)
    with pytest.raises(DeliveryRefused):
        await client.respond(url, HELLO)


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=0)])
async def test_what_did_not_get_through_is_an_error(
    slack: FakeSlack, client: SlackClient, fault: Fault
) -> None:
    slack.fail("response_url", fault)
    with pytest.raises(DeliveryFailed):
        await client.respond(response_url(slack, ALICE_ID, HELP_ROOM, None), HELLO)


async def test_a_limit_at_one_address_holds_nobody_elses(
    slack: FakeSlack, client: SlackClient
) -> None:
    slack.fail("response_url", LIMITED)
    mine, other = (response_url(slack, ALICE_ID, HELP_ROOM, None) for _ in range(2))
    with pytest.raises(RateLimited):
        await client.respond(mine, HELLO)
    await client.respond(other, HELLO)
    with pytest.raises(RateLimited):
        await client.respond(mine, HELLO)
    assert slack.calls == ["response_url"] * 2


async def test_without_a_token_presses_are_replied_to_and_commands_are_not(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    channel.identity.token_lost("The app was removed from the workspace.")
    with pytest.raises(DeliveryFailed, match="was not called"):
        await channel.deliver(sent(slack))
    assert not slack.calls
    await channel.client.respond(response_url(slack, ALICE_ID, HELP_ROOM, None), HELLO)
    assert [post.shown for post in slack.posts] == ["hello"]


@pytest.mark.parametrize(
    "url",
    ["", "https://evil.example/x", "https://hooks.slack.com@evil.example/x", "http://[", "hooks"],
)
async def test_nothing_is_sent_to_anybody_else(client: SlackClient, url: str) -> None:
    with pytest.raises(DeliveryRefused, match="not Slack's"):
        await client.respond(url, HELLO)


def asked(slack: FakeSlack, key: str = "") -> Message:
    """Return a question that came with a command, as version 0.2 kept it."""
    url = f"{slack.site}/response/{key or slack.tickets.response(ALICE, HELP)}"
    return replace(
        question(private=True, id="command-1"),
        thread=replace(question().thread, id="command-1"),
        reply_to=json.dumps({"response_url": url}),
    )


def sent(slack: FakeSlack, response: Response = ANSWER) -> Delivery:
    return delivery(asked(slack), response)


def whispered(slack: FakeSlack) -> list[Post]:
    return [post for post in slack.posts if post.only_for == ALICE and post.channel == HELP]


async def test_a_command_is_answered_to_its_sender_alone(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(sent(slack))
    (post,) = slack.posts
    assert (post.only_for, post.channel) == (ALICE, HELP)
    assert "Restart the client [1]." in post.shown
    assert "Ask a person" in post.labels
    assert post.payload["replace_original"] is False
    assert post.payload["unfurl_links"] is post.payload["unfurl_media"] is False
    assert "chat.postMessage" not in slack.calls


async def test_nobody_is_told_to_reply_where_no_reply_is_heard(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    offer = replace(HANDED_OVER, text=f"Not sure. {HANDOFF_OFFER}", consent_needed=True)
    await channel.deliver(sent(slack, offer))
    (post,) = slack.posts
    assert "Not sure. Shall I ask a person?" in post.shown
    assert "Reply" not in post.shown
    assert "Yes, ask a person" in post.labels


async def test_what_slack_refuses_with_200_is_not_taken_for_shown(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    refused = Fault(page='{"ok": false, "error": "invalid_blocks"}')
    slack.fail("response_url", refused)
    await channel.deliver(sent(slack))
    (post,) = slack.posts
    assert "Restart the client [1]." in post.shown


async def test_nothing_is_looked_up_or_marked_for_a_command(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    one = sent(slack)
    await channel.deliver(one)
    assert await channel.find(one) is not None
    await channel.withdraw(one.message, [])
    assert not {"conversations.replies", "chat.delete", "reactions.remove"} & set(slack.calls)


async def test_a_command_waits_for_nobodys_turn(slack: FakeSlack, channel: SlackChannel) -> None:
    async with channel.turn(question()), channel.turn(asked(slack)):
        await channel.deliver(sent(slack))
    assert len(slack.posts) == 1


@pytest.mark.parametrize("why", ["too late", "used up", "forgotten"])
async def test_an_address_that_is_closed_is_replaced_by_a_direct_message(
    slack: FakeSlack, channel: SlackChannel, why: str
) -> None:
    one = sent(slack)
    if why == "too late":
        received_at = datetime.now(UTC) - timedelta(minutes=31)
        one = replace(one, message=replace(one.message, received_at=received_at))
    elif why == "used up":
        for ticket in slack.tickets.responses.values():
            ticket.used = 5
    else:
        slack.tickets.responses.clear()
    ref = await channel.deliver(one)
    (post,) = slack.posts
    assert (post.channel, post.ts) == (ref.channel, ref.id)
    assert post.channel == "D0ALICE00"
    assert "Restart the client [1]." in post.shown
    await channel.withdraw(one.message, [ref])
    assert not slack.posts


@pytest.mark.parametrize(
    "url",
    ["https://evil.example/x", "http://hooks.slack.com/x", "https://hooks.slack.com:1/x", "["],
)
async def test_no_answer_goes_to_an_address_that_is_not_slacks(
    slack: FakeSlack, channel: SlackChannel, url: str
) -> None:
    asked_there = replace(asked(slack), reply_to=json.dumps({"response_url": url}))
    ref = await channel.deliver(delivery(asked_there, ANSWER))
    assert ref.channel == "D0ALICE00"
    assert "response_url" not in slack.calls


@pytest.mark.parametrize(
    "fault",
    [
        LOST,
        Fault(status=500, after=True),
        Fault(status=502, page="x"),
        Fault(page="\xff", charset="utf-8"),
        Fault(page="ok", charset="hex"),
    ],
)
async def test_what_may_have_got_through_is_not_sent_again(
    slack: FakeSlack, channel: SlackChannel, fault: Fault
) -> None:
    slack.fail("response_url", fault)
    one = sent(slack)
    await channel.deliver(one)
    assert await channel.find(one) is not None
    assert slack.calls == ["response_url"]


async def test_what_was_refused_is_sent_again(slack: FakeSlack, settings: Settings) -> None:
    slack.fail("response_url", LIMITED)
    channel = connect(settings, caller=unhurried())
    one = sent(slack)
    with pytest.raises(DeliveryFailed) as failed:
        await channel.deliver(one)
    assert failed.value.retry_after_seconds == 30
    assert await channel.find(one) is None


class LowerCaseResponse(aiohttp.ClientResponse):
    """A response with its headers as the bytes spell them; the C parser of aiohttp respells some.

    aiohttp's Python parser, which it uses where no C one is built, does not.
    """

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        spelled = ((name.decode().lower(), value.decode()) for name, value in self.raw_headers)
        return CIMultiDictProxy(CIMultiDict(spelled))


async def test_the_wait_is_read_however_its_header_is_spelled(
    slack: FakeSlack, client: SlackClient
) -> None:
    slack.fail("response_url", LIMITED)
    async with aiohttp.ClientSession(response_class=LowerCaseResponse) as session:
        client.web.session = session
        with pytest.raises(RateLimited) as failed:
            await client.respond(response_url(slack, ALICE_ID, HELP_ROOM, None), HELLO)
    assert failed.value.retry_after_seconds == 30


async def test_another_process_knows_what_may_have_been_shown(
    slack: FakeSlack, settings: Settings, store: Store
) -> None:
    one = sent(slack)
    await store.work.open(one.message, "one")
    await connect(settings, store.notes, caller=unhurried()).deliver(one)
    other = connect(settings, store.notes, caller=unhurried())
    assert await other.find(one) is not None
    await other.deliver(one)
    assert len(whispered(slack)) == 1


async def test_another_process_sends_what_surely_was_not_shown(
    slack: FakeSlack, settings: Settings, store: Store
) -> None:
    one = sent(slack, LONG)
    await store.work.open(one.message, "one")
    slack.fail("response_url", None, LIMITED)
    with pytest.raises(DeliveryFailed):
        await connect(settings, store.notes, caller=unhurried()).deliver(one)
    other = connect(settings, store.notes, caller=unhurried())
    assert await other.find(one) is None
    await other.deliver(one)
    words = sum(post.shown.count("word") for post in whispered(slack))
    assert words == LONG.text.count("word")


async def test_refused_blocks_become_plainer_here_too(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.block_types = frozenset({"section", "context", "actions"})
    await channel.deliver(sent(slack))
    (post,) = whispered(slack)
    assert "Ask a person" in post.labels
    assert "Restart the client [1]." in post.shown


FAULTS = st.sampled_from([None, LOST, Fault(status=500, after=True), Fault(status=503), LIMITED])


@given(faults=st.lists(FAULTS, max_size=5), escalated=st.booleans())
def test_no_part_is_ever_seen_twice(faults: list[Fault | None], *, escalated: bool) -> None:
    async def run() -> None:
        async with FakeSlack().serving() as slack:
            slack.fail("response_url", *faults)
            one = sent(slack, HANDED_OVER if escalated else LONG)
            channel = _channel(slack)
            for _ in range(8):
                try:
                    if await channel.find(one) is None:
                        await channel.deliver(one)
                    break
                except DeliveryFailed:
                    continue
            texts = [post.shown for post in slack.posts if post.only_for]
            assert len(texts) == len(set(texts))
            assert len(slack.in_channel(PEOPLE)) == escalated

    asyncio.run(run())


def _channel(slack: FakeSlack) -> SlackChannel:
    given_settings = load_settings(
        _env_file=None,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack.url,
        slack_escalation_channel=PEOPLE,
    )
    return connect(given_settings, caller=unhurried())


def test_a_response_url_is_kept_encrypted_and_read_with_the_same_secret(acme: Settings) -> None:
    url = "https://hooks.slack.com/commands/T1/2/xyz"
    kept = replace(question(private=True), reply_to=ResponseUrls(acme).reply_to(url))

    assert is_command(kept)
    assert "hooks" not in kept.reply_to
    assert "xyz" not in kept.reply_to
    assert ResponseUrls(acme).of(kept) == url
    other = acme.model_copy(update={"slack_signing_secret": SecretStr("another")})
    assert ResponseUrls(other).of(kept) is None
