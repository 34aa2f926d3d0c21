"""Signed requests in by HTTP; what the inbox holds and what Slack is told."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.adapters import ChatContext
from bot.domain.errors import InboxFull, InboxUnavailable, RateExceeded
from bot.domain.settings import Settings
from bot.platforms.slack.channel import connect
from bot.platforms.slack.transport.http import mount
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.slack.events import (
    ALICE,
    SECRET,
    Client,
    direct,
    envelope,
    mention,
    send,
    signed,
)
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.names import BOT_USER


async def test_a_mention_becomes_a_message_in_its_thread(
    client: Client, inbox: KeepingInbox
) -> None:
    response = await send(client, envelope(mention("vpn &amp; wifi down?")))
    assert response.status == 200
    message = inbox.only
    assert message.key == "slack:acme:C0HELP000:1700000000.000100"
    assert message.thread.id == "1700000000.000100"
    assert message.text == "vpn & wifi down?"
    assert (message.author.id, message.private) == (ALICE, False)


async def test_a_mention_inside_a_thread_stays_in_it(client: Client, inbox: KeepingInbox) -> None:
    await send(client, envelope(mention("and now?", thread_ts="1699999999.000001")))
    assert inbox.only.thread.id == "1699999999.000001"


async def test_a_direct_message_is_private_and_roots_its_own_thread(
    client: Client, inbox: KeepingInbox
) -> None:
    assert (await send(client, envelope(direct("hi")))).status == 200
    assert inbox.only.private
    assert inbox.only.thread.id == inbox.only.id == "1700000000.000200"


async def test_retries_and_the_channel_copy_of_a_mention_are_one_message(
    client: Client, inbox: KeepingInbox
) -> None:
    event = mention("vpn?")
    copy = {**event, "type": "message", "channel_type": "channel"}
    await send(client, envelope(event))
    await send(client, envelope(event), **{"X-Slack-Retry-Num": "1"})
    await send(client, envelope(copy, event_id="Ev2"))
    assert inbox.accepted == 3
    assert len(inbox.messages) == 1


@pytest.mark.parametrize(
    "event",
    [
        direct("x", subtype="message_changed"),
        direct("x", subtype="message_deleted"),
        direct("x", subtype="channel_join"),
        direct("x", bot_id="B0OTHER00"),
        direct("x", user=BOT_USER),
        direct("x", channel="C0HELP000", channel_type="channel"),
        direct("x", user=None),
        {"type": "reaction_added", "user": ALICE, "reaction": "+1", "event_ts": "1.6"},
        {"type": "app_home_opened", "user": ALICE, "channel": "D0ALICE00", "tab": "messages"},
        {"type": "something_new_in_2030"},
    ],
    ids=lambda event: f"{event['type']}-{event.get('subtype', '')}-{event.get('channel', '')}",
)
async def test_what_nobody_asked_is_acknowledged_and_left(
    client: Client, inbox: KeepingInbox, event: dict[str, object]
) -> None:
    assert (await send(client, envelope(event))).status == 200
    assert not inbox.messages


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast"])
async def test_messages_with_files_or_shown_in_the_channel_too_are_questions(
    client: Client, inbox: KeepingInbox, subtype: str
) -> None:
    await send(client, envelope(direct("see this", subtype=subtype)))
    assert inbox.only.text == "see this"


@pytest.mark.mended(id="attack-10")
async def test_what_is_far_beyond_a_rate_is_acknowledged_and_dropped(
    client: Client, inbox: KeepingInbox
) -> None:
    inbox.error = RateExceeded("flood", retry_after_seconds=9)

    assert (await send(client, envelope(mention("vpn?")))).status == 200


@pytest.mark.parametrize("error", [InboxFull("full"), InboxUnavailable("down"), RuntimeError("x")])
async def test_what_the_inbox_did_not_keep_is_not_acknowledged(
    client: Client, inbox: KeepingInbox, error: Exception
) -> None:
    inbox.error = error
    response = await send(client, envelope(mention("vpn?")))
    assert response.status == 503
    assert await response.text() == ""


async def test_an_inbox_that_takes_too_long_is_not_acknowledged_within_three_seconds(
    client: Client, inbox: KeepingInbox
) -> None:
    inbox.delay = 10.0
    began = time.monotonic()
    assert (await send(client, envelope(mention("vpn?")))).status == 503
    assert time.monotonic() - began < 3.0


async def test_url_verification_is_answered_when_signed(client: Client) -> None:
    response = await send(client, {"type": "url_verification", "challenge": "abc"})
    assert response.status == 200
    assert await response.json() == {"challenge": "abc"}


BODY = json.dumps(envelope(mention("vpn?"))).encode()
FORM = "application/x-www-form-urlencoded"


def aged(seconds: int) -> dict[str, str]:
    return signed(BODY, timestamp=str(int(time.time()) - seconds))


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (BODY, lambda: signed(BODY, secret="other"), 401),
        (BODY, lambda: {"Content-Type": "application/json"}, 401),
        (BODY, lambda: aged(360), 401),
        (BODY, lambda: aged(-3600), 401),
        (BODY, lambda: {**signed(BODY), "X-Slack-Request-Timestamp": "yesterday"}, 401),
        (BODY, lambda: {**signed(BODY), "X-Slack-Signature": "v0=\u00e9"}, 401),
        (BODY, lambda: {**signed(BODY), "X-Slack-Signature": ""}, 401),
        (BODY + b" ", lambda: signed(BODY), 401),
        (b"\xff\xfe", lambda: signed(b"x"), 401),
        (BODY, lambda: {**signed(BODY), "Content-Type": "text/plain"}, 400),
        (BODY, lambda: {**signed(BODY), "Content-Type": "application/xml"}, 400),
        (b"{", lambda: signed(b"{"), 400),
        (b"[]", lambda: signed(b"[]"), 400),
        (
            b'{"type":"event_callback","event":[]}',
            lambda: signed(b'{"type":"event_callback","event":[]}'),
            400,
        ),
        (b"[" * 100_000, lambda: signed(b"[" * 100_000), 400),
        (b"payload=%7B", lambda: {**signed(b"payload=%7B"), "Content-Type": FORM}, 400),
        (b"x" * 1_000_001, lambda: signed(b"x" * 1_000_001), 413),
    ],
    ids=[
        "another secret",
        "unsigned",
        "six minutes old",
        "from the future",
        "no time",
        "beyond ASCII",
        "empty signature",
        "changed body",
        "no UTF-8",
        "plain text",
        "XML",
        "half an object",
        "a list",
        "no event",
        "nested deep",
        "form without JSON",
        "too large",
    ],
)
async def test_what_slack_did_not_sign_or_send_is_refused_and_never_an_error_of_ours(
    client: Client,
    inbox: KeepingInbox,
    body: bytes,
    headers: Callable[[], dict[str, str]],
    status: int,
) -> None:
    """The headers are made when the test runs: a signature is good for five minutes."""
    response = await client.post("/slack/events", data=body, headers=headers())
    assert response.status == status
    assert not inbox.messages


async def test_an_unmapped_workspace_is_refused_and_not_retried(
    client: Client, inbox: KeepingInbox
) -> None:
    stranger = envelope(mention("vpn?"), team_id="T0OTHER00", authorizations=[])
    response = await send(client, stranger)
    assert response.status == 403
    assert response.headers["X-Slack-No-Retry"] == "1"
    assert not inbox.messages


async def test_no_event_calls_slack_and_an_outage_there_loses_none(
    slack: FakeSlack, settings: Settings, inbox: KeepingInbox, office: ChatContext
) -> None:
    """Bolt's own authorisation answers 200 with an apology when auth.test fails."""
    slack.fail("auth.test", *[Fault(status=503)] * 50)
    app = web.Application()
    mount(app, connect(settings), office)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        await _until(lambda: "auth.test" in slack.calls)
        before = len(slack.calls)
        for number in range(5):
            event = mention("vpn?", ts=f"1700000000.00010{number}")
            assert (await send(client, envelope(event))).status == 200
        assert slack.calls[before:] in ([], ["auth.test"])
    assert [m.text for m in inbox.messages.values()] == ["vpn?"] * 5


async def test_the_bot_learns_its_own_id_at_the_start(
    client: Client, slack: FakeSlack, inbox: KeepingInbox
) -> None:
    await _until(lambda: slack.calls == ["auth.test"])
    await asyncio.sleep(0.05)
    await send(client, envelope(mention("vpn?"), authorizations=[]))
    assert inbox.only.text == "vpn?"


async def test_client_credentials_in_the_environment_change_nothing(
    settings: Settings, inbox: KeepingInbox, office: ChatContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bolt turns itself into an OAuth app when it finds these two variables."""
    monkeypatch.setenv("SLACK_CLIENT_ID", "1.2")
    monkeypatch.setenv("SLACK_CLIENT_SECRET", "s")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-other")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", SECRET + "other")
    app = web.Application()
    mount(app, connect(settings), office)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        assert (await send(client, envelope(mention("vpn?")))).status == 200
    assert inbox.only.text == "vpn?"


async def _until(holds: object) -> None:
    assert callable(holds)
    for _ in range(200):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("It did not happen within two seconds.")
