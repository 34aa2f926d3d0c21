"""Test what the fake Slack sends a bot of what people write, share, click and submit."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import names
from tests.fakes.slack.events import SECRET, Client, deliver, echo
from tests.fakes.slack.exchange import Fault, Json
from tests.fakes.slack.names import APP_TOKEN, BOT_USER, HELP, TOKEN
from tests.fakes.slack.posts import Post, StoredFile, View
from tests.fakes.slack.samples import (
    FEEDBACK,
    MENU,
    ROW,
    TEXT,
    input_block,
    plain,
    post_blocks,
    refused_call,
)
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor


@dataclass
class PlainBot:
    """What came, newest last, and what is answered to everything."""

    status: int = 200
    body: object = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [body["event"] for body in self.bodies if "event" in body]

    @property
    def last(self) -> dict[str, Any]:
        return self.bodies[-1]

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/slack/events", self._take)
        return app

    async def _take(self, request: web.Request) -> web.Response:
        raw = await request.read()
        if not SignatureVerifier(SECRET).is_valid_request(raw, dict(request.headers)):
            return web.Response(status=401)
        self.bodies.append(_read(request.content_type, raw.decode()))
        self.headers.append(dict(request.headers))
        if isinstance(self.body, str):
            return web.Response(text=self.body, status=self.status)
        return web.json_response(self.body, status=self.status)


def _read(content_type: str, text: str) -> dict[str, Any]:
    if content_type == "application/json":
        return dict(json.loads(text))
    form = dict(parse_qsl(text, keep_blank_values=True))
    return dict(json.loads(form["payload"])) if "payload" in form else form


@pytest.fixture
def bot() -> PlainBot:
    return PlainBot()


@pytest.fixture
async def client(bot: PlainBot) -> AsyncIterator[Client]:
    async with TestClient(TestServer(bot.app(), host="127.0.0.1")) as client:
        yield client


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
    await refused_call(api.conversations_replies(channel=alice.direct, ts=ts), "thread_not_found")


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
    post = await post_blocks(api, slack)
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
    await refused_call(api.apps_connections_open(app_token=TOKEN), "not_allowed_token_type")
    assert (await api.apps_connections_open(app_token=APP_TOKEN))["url"].startswith("ws://")
    wrong = AsyncWebClient(token=APP_TOKEN, base_url=slack.url)
    await refused_call(wrong.chat_postMessage(channel=HELP, text="x"), "not_allowed_token_type")


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


async def test_an_edit_keeps_blocks_and_metadata_unless_given(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    meta = {"event_type": "reply", "event_payload": {"part": "1"}}
    post = await post_blocks(api, slack, ROW, metadata=meta)
    await api.chat_update(channel=HELP, ts=post.ts, text="new")
    assert (post.part, post.labels) == ("1", ["Ask a person"])
    await api.chat_update(channel=HELP, ts=post.ts, text="new", blocks=[])
    assert (post.shown, post.part) == ("new", "1")
    assert post.edited


async def test_a_thread_has_the_ts_of_a_message(slack: FakeSlack, api: AsyncWebClient) -> None:
    await refused_call(
        api.chat_postMessage(channel=HELP, text="x", thread_ts="command:1"), "invalid_thread_ts"
    )
    assert not slack.posts


async def test_an_edit_is_judged_as_a_post_is(slack: FakeSlack, api: AsyncWebClient) -> None:
    ts = (await post_blocks(api, slack)).ts
    await refused_call(api.chat_update(channel=HELP, ts=ts, text="x" * 4_001), "msg_too_long")
    await refused_call(
        api.chat_update(channel=HELP, ts=ts, text="x", blocks=[{"type": "x"}]), "invalid_blocks"
    )
    unfurled = api.api_call(
        "chat.update", json={"channel": HELP, "ts": ts, "text": "x", "unfurl_links": False}
    )
    await refused_call(unfurled, "invalid_arguments")
    slack.archived.add(HELP)
    await refused_call(api.chat_update(channel=HELP, ts=ts, text="x"), "is_inactive")


async def test_what_others_wrote_is_not_the_bots_to_change(
    api: AsyncWebClient, alice: Visitor
) -> None:
    ts = await alice.say(HELP, "mine")
    await refused_call(api.chat_update(channel=HELP, ts=ts, text="x"), "cant_update_message")
    await refused_call(api.chat_delete(channel=HELP, ts=ts), "cant_delete_message")


async def test_a_whisper_is_for_members_and_cannot_be_edited(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    told = await api.chat_postEphemeral(channel=HELP, user=names.ALICE, text="psst")
    await refused_call(
        api.chat_update(channel=HELP, ts=told["message_ts"], text="x"), "message_not_found"
    )
    outside = api.chat_postEphemeral(channel=HELP, user=names.STRANGER, text="psst")
    await refused_call(outside, "user_not_in_channel")
    assert [post.shown for post in slack.seen_by(names.ALICE, HELP)] == ["psst"]
    assert slack.seen_by(names.BOB, HELP) == slack.answers(HELP) == []


async def test_metadata_names_its_kind(api: AsyncWebClient) -> None:
    half = {"event_payload": {"part": "1"}}
    call = api.chat_postMessage(channel=HELP, text="x", metadata=half)
    await refused_call(call, "invalid_metadata_format")


async def fetch(address: str, token: str = TOKEN) -> tuple[int, str, bytes]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(address, headers=headers) as answer,
    ):
        return answer.status, answer.content_type, await answer.read()


async def shared(alice: Visitor, bot: PlainBot) -> str:
    await alice.say(HELP, "see", files=[StoredFile("a.log", b"line\n" * 100)], mention=True)
    event = next(one for one in bot.events if one["type"] == "message")
    assert event["subtype"] == "file_share"
    assert (event["files"][0]["size"], event["files"][0]["filetype"]) == (500, "log")
    return str(event["files"][0]["url_private_download"])


async def test_a_file_is_given_to_who_may_read_it(
    slack: FakeSlack, alice: Visitor, bot: PlainBot
) -> None:
    address = await shared(alice, bot)
    assert await fetch(address) == (200, "text/plain", b"line\n" * 100)
    status, kind, page = await fetch(address, token="xoxb-wrong")
    assert (status, kind, b"Sign in" in page) == (200, "text/html", True)
    slack.scopes = ("chat:write",)
    assert (await fetch(address))[1] == "text/html"
    assert slack.calls.count("file") == 3


async def test_a_download_breaks_off_or_takes_its_time_on_demand(
    slack: FakeSlack, alice: Visitor, bot: PlainBot
) -> None:
    address = await shared(alice, bot)
    slack.fail("file", Fault(kept=10), Fault(seconds=30), Fault(seconds=0.01))
    with pytest.raises(aiohttp.ClientPayloadError):
        await fetch(address)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await fetch(address)
    assert len((await fetch(address))[2]) == 500


async def test_a_file_of_another_workspace_must_be_asked_for(
    api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    await alice.say(alice.direct, "see", files=[StoredFile("a.txt", b"x", external=True)])
    (shown,) = bot.events[-1]["files"]
    assert shown["file_access"] == "check_file_info"
    asked = await api.files_info(file=shown["id"])
    assert asked["file"]["name"] == "a.txt"


WHY = {**TEXT, "action_id": "why", "max_length": 20}
FORM: Json = {
    "type": "modal",
    "callback_id": "form",
    "title": plain("Tell us"),
    "submit": plain("Send"),
    "private_metadata": "m",
    "blocks": [
        input_block(WHY, block_id="reason", label=plain("Why?")),
        input_block(MENU, block_id="kind", label=plain("Kind"), optional=True),
        {**ROW, "block_id": "row"},
    ],
}


async def opened(api: AsyncWebClient, slack: FakeSlack, alice: Visitor, bot: PlainBot) -> View:
    await alice.click(await post_blocks(api, slack, ROW), "Ask a person")
    await api.views_open(trigger_id=bot.last["trigger_id"], view=FORM)
    return slack.open_views[-1]


async def respond(address: str, **payload: object) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(address, json=payload) as answer:
        return answer.status, await answer.text()


async def test_a_click_tells_what_was_clicked_and_where(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    post = await post_blocks(api, slack, ROW, {"type": "context_actions", "elements": [FEEDBACK]})
    answer = await alice.click(post, "ask")
    assert (answer.status, answer.seconds < 3) == (200, True)
    assert bot.last["actions"][0]["value"] == "q1"
    assert bot.last["container"]["is_ephemeral"] is False
    assert bot.last["message"]["ts"] == post.ts
    await alice.click(post, "Bad")
    (action,) = bot.last["actions"]
    assert (action["type"], action["action_id"], action["value"]) == (
        "feedback_buttons",
        "vote",
        "down",
    )
    with pytest.raises(AssertionError, match="2 of 'vote'"):
        await alice.click(post, "vote")
    with pytest.raises(AssertionError, match="0 of 'Claim'"):
        await alice.click(post, "Claim")


async def test_a_whisper_is_clicked_by_its_reader_and_sent_without_its_content(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot, client: Client
) -> None:
    await api.chat_postEphemeral(channel=HELP, user=alice.id, text="x", blocks=[ROW])
    await alice.click(slack.posts[-1], "ask")
    assert bot.last["container"]["is_ephemeral"]
    assert "message" not in bot.last
    with pytest.raises(AssertionError, match="does not see"):
        await Visitor(slack, client, names.BOB).click(slack.posts[-1], "ask")


async def test_a_choice_is_told_and_remembered(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    row = {"type": "actions", "block_id": "b", "elements": [MENU, *ROW["elements"]]}
    post = await post_blocks(api, slack, row)
    await alice.click(post, "pick", "Choice 1")
    assert bot.last["actions"][0]["selected_option"]["value"] == "c1"
    await alice.click(post, "ask")
    assert bot.last["state"]["values"]["b"]["pick"]["selected_option"]["value"] == "c1"
    with pytest.raises(AssertionError, match="not offered"):
        await alice.click(post, "pick", "c9")


async def test_a_trigger_is_good_once_and_for_three_seconds(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    clock = [0.0]
    slack.now = lambda: clock[0]
    view = await opened(api, slack, alice, bot)
    assert "Why?" in view.shown
    spent = bot.last["trigger_id"]
    await refused_call(api.views_open(trigger_id=spent, view=FORM), "exchanged_trigger_id")
    await refused_call(api.views_open(trigger_id="1.x", view=FORM), "invalid_trigger_id")
    await alice.click(slack.posts[-1], "ask")
    clock[0] += 3.1
    late = bot.last["trigger_id"]
    await refused_call(api.views_open(trigger_id=late, view=FORM), "expired_trigger_id")
    assert slack.open_views == [view]


@pytest.mark.parametrize(
    "change",
    [
        {"title": plain("x" * 25)},
        {"submit": plain("x" * 25)},
        {"private_metadata": "x" * 3001},
        {"callback_id": "x" * 256},
        {"type": "panel"},
        {"blocks": [{"type": "markdown", "text": "x"}]},
        {"surprise": 1},
    ],
    ids=str,
)
async def test_a_view_that_slack_would_not_show_is_refused(
    slack: FakeSlack, api: AsyncWebClient, change: dict[str, Any]
) -> None:
    trigger = slack.tickets.trigger(names.ALICE)
    call = api.api_call("views.open", json={"trigger_id": trigger, "view": {**FORM, **change}})
    await refused_call(call, "invalid_arguments")
    unsent = {key: value for key, value in FORM.items() if key != "submit"}
    await refused_call(api.views_open(trigger_id=trigger, view=unsent), "invalid_arguments")


async def test_a_submission_carries_what_was_filled_in_and_closes(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    view = await opened(api, slack, alice, bot)
    with pytest.raises(AssertionError, match=r"fill in \['Why\?'\]"):
        await alice.submit(view)
    with pytest.raises(AssertionError, match="21 characters"):
        await alice.submit(view, {"why": "x" * 21})
    assert await alice.submit(view, {"Why?": "old page", "kind": "c0"}) == {}
    sent = bot.last["view"]
    assert (sent["callback_id"], sent["private_metadata"]) == ("form", "m")
    assert sent["state"]["values"]["reason"]["why"]["value"] == "old page"
    assert sent["state"]["values"]["kind"]["pick"]["selected_option"]["value"] == "c0"
    assert slack.open_views == []


async def test_the_bots_answer_to_a_submission_is_done(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    view = await opened(api, slack, alice, bot)
    given = {"why": "x"}
    bot.body = {"response_action": "errors", "errors": {"reason": "Too short"}}
    assert (await alice.submit(view, given))["response_action"] == "errors"
    assert (slack.open_views, view.errors) == ([view], {"reason": "Too short"})
    bot.body = {"response_action": "errors", "errors": {"row": "x"}}
    with pytest.raises(AssertionError, match="can be wrong"):
        await alice.submit(view, given)
    bot.body = {"response_action": "update", "view": {**FORM, "title": plain("Thanks")}}
    await alice.submit(view, given)
    assert view.shown.startswith("Thanks")
    bot.body = {"response_action": "push", "view": FORM}
    await alice.submit(view, given)
    assert [one.below for one in slack.open_views] == [None, view]
    bot.body = {"response_action": "clear"}
    await alice.submit(slack.open_views[-1], given)
    assert slack.open_views == []


async def test_a_refused_submission_leaves_the_modal_open(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    view = await opened(api, slack, alice, bot)
    bot.status = 500
    assert await alice.submit(view, {"why": "x"}) == {}
    assert (slack.open_views, alice.answers[-1].status) == ([view], 500)


async def test_a_view_is_changed_only_by_who_saw_its_last_version(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    view = await opened(api, slack, alice, bot)
    seen = view.hash
    await alice.click(view, "Ask a person")
    assert bot.last["container"] == {"type": "view", "view_id": view.id}
    await api.views_update(view_id=view.id, hash=seen, view={**FORM, "title": plain("New")})
    assert view.shown.startswith("New")
    stale = api.views_update(view_id=view.id, hash=seen, view=FORM)
    await refused_call(stale, "hash_conflict")
    await refused_call(api.views_update(view_id="V0", view=FORM), "not_found")
    await api.views_push(trigger_id=bot.last["trigger_id"], view=FORM)
    assert slack.open_views[-1].below is view
    await alice.close(slack.open_views[-1])
    assert slack.open_views == [view]


async def test_a_command_is_answered_at_once_and_later(
    slack: FakeSlack, alice: Visitor, bot: PlainBot
) -> None:
    bot.body = "Queued"
    answer = await alice.command(HELP, "/frontdesk", "ask vpn & wifi?")
    assert (answer.status, answer.text) == (200, "Queued")
    assert (bot.last["text"], bot.last["channel_name"]) == ("ask vpn & wifi?", "help")
    for number in range(5):
        assert await respond(bot.last["response_url"], text=f"part {number}") == (200, "ok")
    status, text = await respond(bot.last["response_url"], text="one too many")
    assert (status, "used_url" in text) == (404, True)
    assert [post.shown for post in slack.seen_by(alice.id, HELP)][:2] == ["Queued", "part 0"]
    assert {post.only_for for post in slack.posts} == {alice.id}


async def test_an_address_to_answer_at_runs_out_and_may_be_unknown(
    slack: FakeSlack, alice: Visitor, bot: PlainBot
) -> None:
    clock = [0.0]
    slack.now = lambda: clock[0]
    await alice.command(HELP, "/frontdesk")
    clock[0] = 30 * 60 + 1.0
    for address in (bot.last["response_url"], f"{slack.site}/response/R0"):
        status, text = await respond(address, text="late")
        assert (status, "expired_url" in text) == (404, True)


async def test_the_message_of_a_click_is_replaced_or_deleted(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    await api.chat_postEphemeral(channel=HELP, user=alice.id, text="x", blocks=[ROW])
    post: Post = slack.posts[-1]
    await alice.click(post, "ask")
    address = bot.last["response_url"]
    slack.fail("response_url", Fault(status=500))
    assert (await respond(address, text="x"))[0] == 500
    assert (await respond(address, text="x", blocks=[{"type": "x"}]))[0] == 400
    await respond(address, replace_original=True, text="Thanks")
    assert (slack.posts, post.shown) == ([post], "Thanks")
    await respond(address, response_type="in_channel", text="for all")
    assert [p.shown for p in slack.answers(HELP)] == ["for all"]
    await respond(address, delete_original=True)
    assert post not in slack.posts
    assert slack.requests[-1].arguments == {"delete_original": True}


async def test_a_shortcut_tells_the_message(
    slack: FakeSlack, alice: Visitor, bot: PlainBot, api: AsyncWebClient
) -> None:
    ts = await alice.say(HELP, "how do I?")
    await alice.shortcut(ts, "ask_this")
    assert (bot.last["type"], bot.last["callback_id"]) == ("message_action", "ask_this")
    assert bot.last["message"]["text"] == "how do I?"
    await api.views_open(trigger_id=bot.last["trigger_id"], view=FORM)
    assert slack.open_views[-1].user == alice.id
