"""What the bot is sent of what people do."""

from __future__ import annotations

import random

from slack_sdk.web.async_client import AsyncWebClient

from tests.bot.adapters.slack.events import Client
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.asking import posted, refused
from tests.bot.adapters.slack.workspace.envelopes import deliver, echo
from tests.bot.adapters.slack.workspace.names import APP_TOKEN, BOT_USER, HELP, TOKEN
from tests.bot.adapters.slack.workspace.plain_bot import PlainBot


async def test_a_mention_comes_as_a_mention_and_as_a_message_of_one_ts(
    slack: FakeSlack, alice: Visitor, bot: PlainBot, api: AsyncWebClient
) -> None:
    ts = await alice.say(HELP, "is a<b & <@U0BOB0000> in?", mention=True)
    assert sorted(event["type"] for event in bot.events) == ["app_mention", "message"]
    assert {event["ts"] for event in bot.events} == {ts}
    assert bot.events[0]["text"] == f"<@{BOT_USER}> is a&lt;b &amp; <@U0BOB0000> in?"
    assert len({body["event_id"] for body in bot.bodies}) == 2
    assert [answer.status for answer in alice.answers] == [200, 200]
    thread = await api.conversations_replies(channel=HELP, ts=ts)
    assert [one["user"] for one in thread["messages"]] == [names.ALICE]
    slack.subscribed -= {"message.channels"}
    await alice.say(HELP, "again", thread=ts, mention=True)
    assert [event["type"] for event in bot.events[2:]] == ["app_mention"]
    assert bot.last["event"]["thread_ts"] == ts


async def test_the_bot_hears_nothing_of_rooms_that_it_is_not_in(
    alice: Visitor, bot: PlainBot
) -> None:
    await alice.say(names.ELSEWHERE, "hi", mention=True)
    assert not bot.bodies
    await alice.invites(names.ELSEWHERE)
    assert [event["type"] for event in bot.events] == ["member_joined_channel", "message"]
    assert bot.events[0]["user"] == BOT_USER


async def test_people_of_another_workspace_are_marked(
    slack: FakeSlack, client: Client, bot: PlainBot
) -> None:
    await Visitor(slack, client, names.STRANGER).say(names.SHARED, "hi", mention=True)
    assert bot.last["is_ext_shared_channel"]
    assert (bot.last["team_id"], bot.last["context_team_id"]) == ("T0OTHER00", "T0TEAM000")
    assert bot.last["event"]["user_team"] == "T0OTHER00"


async def test_edits_and_deletions_tell_what_was_there(
    api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    ts = await alice.say(alice.direct, "old")
    await alice.edit(ts, "new")
    event = bot.last["event"]
    assert (event["previous_message"]["text"], event["message"]["text"]) == ("old", "new")
    await alice.delete(ts)
    assert (bot.last["event"]["subtype"], bot.last["event"]["deleted_ts"]) == (
        "message_deleted",
        ts,
    )
    await refused(api.conversations_replies(channel=alice.direct, ts=ts), "thread_not_found")


async def test_a_deleted_message_with_replies_leaves_a_tombstone(
    api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    ts = await alice.say(HELP, "why?", mention=True)
    await api.chat_postMessage(channel=HELP, thread_ts=ts, text="because")
    await alice.delete(ts)
    assert bot.last["event"]["subtype"] == "message_changed"
    assert bot.last["event"]["message"]["subtype"] == "tombstone"
    thread = await api.conversations_replies(channel=HELP, ts=ts)
    assert [one["text"] for one in thread["messages"]][1:] == ["because"]


async def test_reactions_of_people_are_told(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    post = await posted(api, slack)
    await alice.react(post, "+1::skin-tone-3")
    await alice.unreact(post, "+1::skin-tone-3")
    kinds = [(event["type"], event["item"]["ts"]) for event in bot.events]
    assert kinds == [("reaction_added", post.ts), ("reaction_removed", post.ts)]
    assert bot.last["event"]["item_user"] == BOT_USER


async def test_events_held_back_are_delivered_often_and_in_disorder(
    alice: Visitor, bot: PlainBot
) -> None:
    alice.held = []
    sent = [await alice.say(alice.direct, str(number)) for number in range(5)]
    assert not bot.bodies
    answers = await deliver(alice.door, alice.held, times=3, shuffled=random.Random(4))  # noqa: S311
    came = [event["ts"] for event in bot.events]
    assert sorted(came) == sorted(sent * 3)
    assert came != sent * 3
    assert len({body["event_id"] for body in bot.bodies}) == 5
    assert {answer.status for answer in answers} == {200}
    assert any("X-Slack-Retry-Num" in headers for headers in bot.headers)


async def test_the_rest_of_what_people_do_is_told(alice: Visitor, bot: PlainBot) -> None:
    await alice.open_home()
    alice.workspace.sessions[(alice.direct, "1.1")] = "processing"
    await alice.stop(alice.direct, "1.1")
    await alice.joins(HELP)
    kinds = [event["type"] for event in bot.events]
    assert kinds[:2] == ["app_home_opened", "agent_session_stopped"]
    assert "member_joined_channel" in kinds


async def test_tokens_are_told_apart(slack: FakeSlack, api: AsyncWebClient) -> None:
    await refused(api.apps_connections_open(app_token=TOKEN), "not_allowed_token_type")
    assert (await api.apps_connections_open(app_token=APP_TOKEN))["url"].startswith("ws://")
    wrong = AsyncWebClient(token=APP_TOKEN, base_url=slack.url)
    await refused(wrong.chat_postMessage(channel=HELP, text="x"), "not_allowed_token_type")


async def test_bots_are_marked_as_such_and_the_bot_hears_itself(
    slack: FakeSlack, api: AsyncWebClient, client: Client, bot: PlainBot
) -> None:
    other = Visitor(slack, client, names.OTHER_BOT)
    await other.say(HELP, "build failed", mention=True)
    assert {event["bot_id"] for event in bot.events} == {"B0BOT2000"}
    await api.chat_postMessage(channel=HELP, text="mine")
    await echo(other.door, slack, slack.posts[-1])
    assert (bot.last["event"]["user"], bot.last["event"]["text"]) == (BOT_USER, "mine")
    assert "client_msg_id" not in bot.last["event"]


async def test_a_reply_may_be_shown_in_the_channel_too(alice: Visitor, bot: PlainBot) -> None:
    root = await alice.say(HELP, "vpn?")
    await alice.say(HELP, "still down", thread=root, broadcast=True)
    assert bot.last["event"]["subtype"] == "thread_broadcast"
    assert bot.last["event"]["thread_ts"] == root
