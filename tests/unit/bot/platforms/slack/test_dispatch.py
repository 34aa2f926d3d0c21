"""Test requests by HTTP: signatures, tenancy, what the inbox keeps and what Slack is answered."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.chat.adapters import ChatContext
from bot.domain.errors import InboxFull, InboxUnavailable, RateExceeded
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.slack import dispatch, mount
from bot.platforms.slack.bot_identity import workspaces_of
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.dispatch import Dispatcher, Endpoint, Malformed, bolt_app, bolt_request
from tests.fakes.desk import KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.slack import names
from tests.fakes.slack.events import (
    ALICE,
    SECRET,
    Client,
    WebDoor,
    direct,
    envelope,
    mention,
    send,
    signed,
)
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import BOT_USER, TEAM, TOKEN
from tests.fakes.slack.server import FakeSlack

pytestmark = pytest.mark.attack


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


async def test_an_inbox_that_takes_too_long_is_not_acknowledged_in_time(
    client: Client, inbox: KeepingInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dispatch.ACCEPT_SECONDS < 3.0, "as long as Slack waits"
    monkeypatch.setattr("bot.platforms.slack.messages.intake.ACCEPT_SECONDS", 0.01)
    inbox.delay = 600.0
    assert (await send(client, envelope(mention("vpn?")))).status == 503


async def test_what_was_not_kept_says_when_to_send_it_again(
    client: Client, inbox: KeepingInbox
) -> None:
    inbox.error = InboxFull("full")

    assert int((await send(client, envelope(mention("vpn?")))).headers["Retry-After"]) > 0


async def test_signed_events_beyond_the_bound_are_refused_presses_are_not() -> None:
    known = load_settings(
        _env_file=None, slack_bot_token=TOKEN, slack_signing_secret=SECRET, slack_team_id=TEAM
    )
    dispatcher = Dispatcher(bolt_app(known, ()), connect(known).identity)
    app = web.Application()
    app.router.add_post("/", Endpoint(dispatcher, SECRET, most=0).handle)

    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        event = await client.post("/", data=BODY, headers=signed(BODY))
        unsigned = await client.post("/", data=BODY, headers={"Content-Type": "application/json"})
        form = b"payload=%7B%7D"
        press = await client.post("/", data=form, headers={**signed(form), "Content-Type": FORM})

    assert event.status == 503
    assert int(event.headers["Retry-After"]) > 0
    assert unsigned.status == 401
    assert press.status != 503


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
    slack: FakeSlack, settings: Settings, inbox: KeepingInbox, context: ChatContext
) -> None:
    """Bolt's own authorisation answers 200 with an apology when auth.test fails."""
    slack.fail("auth.test", *[Fault(status=503)] * 50)
    app = web.Application()
    mount(app, connect(settings), context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        await wait_until(lambda: "auth.test" in slack.calls)
        before = len(slack.calls)
        for number in range(5):
            event = mention("vpn?", ts=f"1700000000.00010{number}")
            assert (await send(client, envelope(event))).status == 200
        assert slack.calls[before:] in ([], ["auth.test"])
    assert [m.text for m in inbox.messages.values()] == ["vpn?"] * 5


async def test_the_bot_learns_its_own_id_at_the_start(
    client: Client, channel: SlackChannel, inbox: KeepingInbox
) -> None:
    await wait_until(lambda: channel.identity.user_id)
    await send(client, envelope(mention("vpn?"), authorizations=[]))
    assert inbox.only.text == "vpn?"


async def test_client_credentials_in_the_environment_change_nothing(
    settings: Settings, inbox: KeepingInbox, context: ChatContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bolt turns itself into an OAuth app when it finds these two variables."""
    monkeypatch.setenv("SLACK_CLIENT_ID", "1.2")
    monkeypatch.setenv("SLACK_CLIENT_SECRET", "s")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-other")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", SECRET + "other")
    app = web.Application()
    mount(app, connect(settings), context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        assert (await send(client, envelope(mention("vpn?")))).status == 200
    assert inbox.only.text == "vpn?"


OTHER = "T0OTHER00"
ACTION = {"type": "button", "action_id": "nobody_takes_it", "value": "x"}


async def send_form(client: Client, form: dict[str, str]) -> int:
    body = urlencode(form).encode()
    headers = {**signed(body), "Content-Type": FORM}
    return (await client.post("/slack/events", data=body, headers=headers)).status


def press(**fields: object) -> dict[str, str]:
    payload = {"type": "block_actions", "user": {"id": "U0ALICE00"}, "actions": [ACTION], **fields}
    return {"payload": json.dumps(payload)}


@pytest.mark.parametrize(
    ("form", "status"),
    [
        (press(team={"id": TEAM}), 200),
        (press(team={"id": OTHER}), 403),
        (press(team=None, enterprise={"id": "E0ORG0000"}), 403),
        (press(), 403),
        (press(team={"id": OTHER}, view={"app_installed_team_id": TEAM}), 200),
        (press(team={"id": TEAM}, view={"app_installed_team_id": OTHER}), 403),
        ({"command": "/other", "team_id": TEAM}, 200),
        ({"command": "/other", "team_id": OTHER}, 403),
        ({"command": "/other"}, 403),
        ({"ssl_check": "1"}, 200),
    ],
)
async def test_buttons_forms_and_commands_of_other_workspaces_are_refused(
    client: Client, form: dict[str, str], status: int
) -> None:
    assert await send_form(client, form) == status


async def test_an_unknown_command_is_told_so(client: Client) -> None:
    body = urlencode({"command": "/other", "team_id": TEAM}).encode()
    headers = {**signed(body), "Content-Type": FORM}
    response = await client.post("/slack/events", data=body, headers=headers)

    assert "don't know this command" in await response.text()


async def test_without_a_configured_workspace_the_token_s_own_is_served(
    slack: FakeSlack, settings: Settings, inbox: KeepingInbox, context: ChatContext
) -> None:
    """Until Slack has said whose it is, events are to be sent again."""
    slack.fail("auth.test", Fault(error="internal_error", status=500))
    channel = connect(settings.model_copy(update={"slack_team_id": None}))
    app = web.Application()
    mount(app, channel, context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        assert (await send(client, envelope(mention("vpn?")))).status == 503
        await wait_until(lambda: channel.identity.team_id)
        stranger = envelope(mention("vpn?"), team_id=OTHER, authorizations=[])
        assert (await send(client, stranger)).status == 403
        assert (await send(client, envelope(mention("vpn?")))).status == 200

    assert len(inbox.messages) == 1


async def test_an_organisation_is_served_in_all_its_workspaces(
    settings: Settings, inbox: KeepingInbox, context: ChatContext
) -> None:
    app = web.Application()
    mount(app, connect(settings.model_copy(update={"slack_team_id": "E0ORG0000"})), context)
    granted = {"enterprise_id": "E0ORG0000", "team_id": None, "is_enterprise_install": True}
    event = envelope(mention("vpn?"), team_id="T0ANY0000", authorizations=[granted])
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        assert (await send(client, event)).status == 200
        assert await send_form(client, press(team=None, enterprise={"id": "E0ORG0000"})) == 200

    assert len(inbox.messages) == 1


async def test_an_app_of_an_organisation_serves_it_without_a_setting(
    slack: FakeSlack, settings: Settings, inbox: KeepingInbox, context: ChatContext
) -> None:
    slack.organisation = "E0ORG0000"
    channel = connect(settings.model_copy(update={"slack_team_id": None}))
    app = web.Application()
    mount(app, channel, context)
    granted = {"enterprise_id": "E0ORG0000", "team_id": None, "is_enterprise_install": True}
    wide = {"team_id": None, "enterprise_id": "E0ORG0000"}
    event = envelope(mention("vpn?"), **wide, authorizations=[granted])
    command = {"command": "/other", "is_enterprise_install": "true", "enterprise_id": "E0ORG0000"}
    pressed = press(team=None, enterprise={"id": "E0ORG0000"}, is_enterprise_install=True)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        await wait_until(lambda: channel.identity.workspace == "E0ORG0000")
        assert (await send(client, event)).status == 200
        assert await send_form(client, pressed) == 200
        assert await send_form(client, {**command, "team_id": "T0ANY0000"}) == 200
        assert await send_form(client, {"command": "/other", "team_id": OTHER}) == 403

    assert inbox.only.text == "vpn?"


def test_an_event_of_a_shared_channel_is_for_whom_it_was_delivered() -> None:
    ours = envelope({}, team_id=OTHER, enterprise_id="E0OTHER00")

    assert workspaces_of(ours) == {TEAM}


async def test_too_many_events_are_acknowledged_and_told(client: Client) -> None:
    body = {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": 1700000000}

    assert (await send(client, body)).status == 200


_WHO: dict[str, Any] = {
    "team": {"id": names.TEAM, "domain": "acme"},
    "user": {"id": names.ALICE, "name": "alice"},
    "channel": {"id": names.HELP, "name": "help"},
    "trigger_id": "1.2.abc",
    "response_url": "https://hooks.slack.com/actions/T/1/x",
}
_ATTACHMENT = {
    "type": "interactive_message",
    "actions": [{"name": "game", "type": "button", "value": "chess"}],
    "callback_id": "wopr_game",
    "attachment_id": "1",
    "is_app_unfurl": False,
}
_SELECTED = {"name": "list", "type": "select", "selected_options": [{"value": "C111"}]}
_STEP = {
    "type": "workflow_step_edit",
    "callback_id": "copy_review",
    "workflow_step": {"workflow_id": "1", "step_id": "2", "inputs": {}, "outputs": []},
}
_SELECT = {"type": "block_suggestion", "action_id": "ask_person", "block_id": "b", "value": "x"}


def pressed_body(action_id: object, **changes: object) -> dict[str, Any]:
    action = {"type": "button", "action_id": action_id, "block_id": "b", "value": "x"}
    return {**_WHO, "type": "block_actions", "actions": [action], **changes}


UNEXPECTED_BODIES = [
    {**_WHO, **_ATTACHMENT},
    {**_WHO, **_ATTACHMENT, "actions": [_SELECTED], "original_message": {"text": ""}},
    {**_WHO, **_ATTACHMENT, "actions": None},
    {**_WHO, **_STEP},
    {**_WHO, **_SELECT},
    {**_WHO, "type": "dialog_submission", "callback_id": "x", "submission": {}},
    {**_WHO, "type": "dialog_suggestion", "callback_id": "x", "name": "y"},
    {**_WHO, "type": "shortcut", "callback_id": 7},
    {**_WHO, "type": "message_action", "callback_id": None, "message": None},
    {**_WHO, "type": "view_submission", "view": None},
    {**_WHO, "type": "view_submission", "view": {"callback_id": 7, "id": 7}},
    {**_WHO, "type": "view_closed", "view": {"callback_id": None}},
    {**_WHO, "type": "function_executed"},
    {**_WHO, "type": "block_actions"},
    pressed_body(7),
    pressed_body(None),
    pressed_body(["feedback"]),
    pressed_body("feedback", user=None),
    pressed_body("ask_person", user=None),
    pressed_body("ask_person", user="U1", channel="C1", container=None),
]


@pytest.mark.mended(id="slack-11")
@pytest.mark.parametrize("body", UNEXPECTED_BODIES, ids=lambda body: json.dumps(body)[-60:])
async def test_an_odd_body_of_our_workspace_is_no_error_of_ours(
    client: Client, inbox: KeepingInbox, body: dict[str, Any]
) -> None:
    answer = await WebDoor(client).interact(body)

    assert answer.status in {200, 400}
    assert inbox.accepted == 0


FORM_HEADERS = {"content-type": "application/x-www-form-urlencoded"}
JSON_HEADERS = {"content-type": "application/json"}
KEYS = (
    "type event team team_id enterprise enterprise_id authorizations user user_id channel view "
    "container actions action_id message item is_enterprise_install is_ext_shared_channel payload "
    "command ssl_check challenge callback_id bot_profile bot_id subtype ts trigger_id edited"
).split()
WORDS = st.sampled_from(
    "event_callback url_verification block_actions view_submission message app_mention shortcut "
    "message_action block_suggestion dialog_submission message_changed app_rate_limited "
    "interactive_message view_closed function_executed".split()
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=12,
)
TOLD = {200, 400, 403, 503}
OBJECTS = st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=8)


def status_of(body: str | dict[str, Any], headers: dict[str, str]) -> int:
    """Return what a request is answered with, the signature being sound."""
    known = load_settings(
        _env_file=None, slack_bot_token=TOKEN, slack_app_token="xapp-1", slack_team_id=TEAM
    )
    dispatcher = Dispatcher(bolt_app(known, ()), connect(known).identity)
    try:
        request = bolt_request(body, headers, mode="socket_mode")
    except Malformed:
        return 400
    return asyncio.run(dispatcher.dispatch(request)).status


@given(OBJECTS)
def test_any_json_is_taken_refused_or_sent_again(body: dict[str, Any]) -> None:
    for shape in (body, {**body, "team_id": TEAM, "team": {"id": TEAM}, "authorizations": None}):
        assert status_of(json.dumps(shape), JSON_HEADERS) in TOLD
        assert status_of(shape, {}) in TOLD


@given(ANYTHING | st.text())
def test_any_form_is_taken_refused_or_sent_again(payload: Any) -> None:  # noqa: ANN401
    for text in (json.dumps(payload), str(payload)):
        forms = {"payload": text, "team_id": TEAM}, {"command": text, "team_id": TEAM}
        for form in forms:
            body = urlencode(form, errors="replace")
            assert status_of(body, FORM_HEADERS) in TOLD


MALFORMED_BODIES = (
    "[]",
    "null",
    "1",
    '"x"',
    "{",
    "[" * 100_000,
    '{"event":[]}',
    '{"actions":[1]}',
    '{"actions":[]}',
    '{"team":1}',
    '{"type":{}}',
    "{" + "1" * 5000,
    "payload=",
    "payload=[]",
    "payload=%7B%22actions%22%3A1%7D",
)


@pytest.mark.parametrize("body", MALFORMED_BODIES, ids=lambda body: body[:20])
def test_what_slack_does_not_send_is_malformed(body: str) -> None:
    headers = FORM_HEADERS if body.startswith("payload") else JSON_HEADERS

    with pytest.raises(Malformed):
        bolt_request(body, headers, mode="http")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(OBJECTS)
async def test_whoever_takes_it_no_event_button_or_form_is_an_error(
    client: Client, inner: dict[str, Any]
) -> None:
    """All that listens is there; what none of it can read is refused, or to be sent again."""
    for shape in (
        envelope({**mention("vpn?"), **inner}),
        envelope({**direct("vpn?"), "subtype": "message_changed", **inner}),
        envelope({"type": "agent_session_stopped", **inner}),
        envelope({"type": "reaction_added", **inner}),
        {"type": "block_actions", "team": {"id": TEAM}, "actions": [inner], **inner},
        {"type": "view_submission", "team": {"id": TEAM}, "view": inner},
    ):
        assert (await send(client, shape)).status in TOLD
