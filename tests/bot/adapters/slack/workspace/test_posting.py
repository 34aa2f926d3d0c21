"""Edits and whispers, as Slack takes them."""

from __future__ import annotations

from slack_sdk.web.async_client import AsyncWebClient

from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.asking import posted, refused
from tests.bot.adapters.slack.workspace.names import HELP
from tests.bot.adapters.slack.workspace.samples import ROW


async def test_an_edit_keeps_blocks_and_metadata_unless_given(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    meta = {"event_type": "reply", "event_payload": {"part": "1"}}
    post = await posted(api, slack, ROW, metadata=meta)
    await api.chat_update(channel=HELP, ts=post.ts, text="new")
    assert (post.part, post.labels) == ("1", ["Ask a person"])
    await api.chat_update(channel=HELP, ts=post.ts, text="new", blocks=[])
    assert (post.shown, post.part) == ("new", "1")
    assert post.edited


async def test_a_thread_has_the_ts_of_a_message(slack: FakeSlack, api: AsyncWebClient) -> None:
    await refused(
        api.chat_postMessage(channel=HELP, text="x", thread_ts="command:1"), "invalid_thread_ts"
    )
    assert not slack.posts


async def test_an_edit_is_judged_as_a_post_is(slack: FakeSlack, api: AsyncWebClient) -> None:
    ts = (await posted(api, slack)).ts
    await refused(api.chat_update(channel=HELP, ts=ts, text="x" * 4_001), "msg_too_long")
    await refused(
        api.chat_update(channel=HELP, ts=ts, text="x", blocks=[{"type": "x"}]), "invalid_blocks"
    )
    unfurled = api.api_call(
        "chat.update", json={"channel": HELP, "ts": ts, "text": "x", "unfurl_links": False}
    )
    await refused(unfurled, "invalid_arguments")
    slack.archived.add(HELP)
    await refused(api.chat_update(channel=HELP, ts=ts, text="x"), "is_inactive")


async def test_what_others_wrote_is_not_the_bots_to_change(
    api: AsyncWebClient, alice: Visitor
) -> None:
    ts = await alice.say(HELP, "mine")
    await refused(api.chat_update(channel=HELP, ts=ts, text="x"), "cant_update_message")
    await refused(api.chat_delete(channel=HELP, ts=ts), "cant_delete_message")


async def test_a_whisper_is_for_members_and_cannot_be_edited(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    told = await api.chat_postEphemeral(channel=HELP, user=names.ALICE, text="psst")
    await refused(
        api.chat_update(channel=HELP, ts=told["message_ts"], text="x"), "message_not_found"
    )
    outside = api.chat_postEphemeral(channel=HELP, user=names.STRANGER, text="psst")
    await refused(outside, "user_not_in_channel")
    assert [post.shown for post in slack.seen_by(names.ALICE, HELP)] == ["psst"]
    assert slack.seen_by(names.BOB, HELP) == slack.answers(HELP) == []


async def test_metadata_names_its_kind(api: AsyncWebClient) -> None:
    half = {"event_payload": {"part": "1"}}
    call = api.chat_postMessage(channel=HELP, text="x", metadata=half)
    await refused(call, "invalid_metadata_format")
