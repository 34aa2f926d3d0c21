"""Test that the fake Slack refuses what Slack refuses: the bot must never send it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import names
from tests.fakes.slack.blocks import BLOCK_TYPES, refusal, wrong_in
from tests.fakes.slack.exchange import Json
from tests.fakes.slack.names import HELP
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.state import POST_BURST, Rates


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def options(count: int = 2) -> list[Json]:
    return [{"text": plain(f"Choice {n}"), "value": f"c{n}"} for n in range(count)]


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def button(**changes: object) -> Json:
    text = plain("Ask a person")
    return {"type": "button", "action_id": "ask", "text": text, "value": "q1", **changes}


def row(*elements: Json, **changes: object) -> Json:
    return {"type": "actions", "elements": [*elements], **changes}


def input_block(element: Json, **changes: object) -> Json:
    return {"type": "input", "label": plain("Say"), "element": element, **changes}


FEEDBACK: Json = {
    "type": "feedback_buttons",
    "action_id": "vote",
    "positive_button": {"text": plain("Good"), "value": "up"},
    "negative_button": {"text": plain("Bad"), "value": "down"},
}
MENU: Json = {"type": "static_select", "action_id": "pick", "options": options()}
TEXT: Json = {"type": "plain_text_input", "action_id": "say"}
SECTION: Json = {"type": "section", "text": mrkdwn("x")}
FORM: Json = {
    "type": "modal",
    "callback_id": "form",
    "title": plain("Tell us"),
    "submit": plain("Send"),
    "blocks": [input_block(TEXT)],
}
ALICES = "9000000000.000001"
BOTS = "9000000000.000002"
WHISPERED = "9000000000.000003"


async def refused(api: AsyncWebClient, method: str, arguments: Json) -> Json:
    """Return the answer to a call that must be refused; the SDK checks nothing before it."""
    with pytest.raises(SlackApiError) as caught:
        await api.api_call(method, json=arguments)
    return dict(caught.value.response.data)


@pytest.mark.parametrize(
    ("method", "arguments", "scope"),
    [
        ("users.info", {"user": names.ALICE}, "users:read"),
        ("users.lookupByEmail", {"email": "a@b"}, "users:read.email"),
        ("usergroups.users.list", {"usergroup": names.ADMINS}, "usergroups:read"),
        ("conversations.info", {"channel": HELP}, "channels:read"),
        ("conversations.info", {"channel": names.SECRET_ROOM}, "groups:read"),
        ("conversations.open", {"users": names.ALICE}, "im:write"),
        ("conversations.replies", {"channel": HELP, "ts": "1.1"}, "channels:history"),
        ("chat.postMessage", {"channel": HELP, "text": "x"}, "chat:write"),
        ("reactions.add", {"channel": HELP}, "reactions:write"),
    ],
)
async def test_what_needs_a_scope_is_refused_without_it(
    slack: FakeSlack, api: AsyncWebClient, method: str, arguments: Json, scope: str
) -> None:
    slack.scopes = tuple(one for one in slack.scopes if one != scope)
    answer = await refused(api, method, arguments)
    assert (answer["error"], answer["needed"]) == ("missing_scope", scope)


@pytest.mark.parametrize(
    ("method", "arguments", "code"),
    [
        ("chat.postMessage", {"text": "x", "channel": names.ELSEWHERE}, "not_in_channel"),
        ("chat.postMessage", {"text": "x", "channel": "C0NOWHERE"}, "channel_not_found"),
        ("chat.postMessage", {"text": "x", "thread_ts": "command:1"}, "invalid_thread_ts"),
        ("chat.postMessage", {"text": "x", "blocks": [{"type": "x"}]}, "invalid_blocks"),
        (
            "chat.postMessage",
            {"text": "x", "metadata": {"event_payload": {"part": "1"}}},
            "invalid_metadata_format",
        ),
        ("chat.postEphemeral", {"text": "x", "user": names.STRANGER}, "user_not_in_channel"),
        ("chat.update", {"ts": BOTS, "text": "x" * 4_001}, "msg_too_long"),
        ("chat.update", {"ts": BOTS, "text": "x", "blocks": [{"type": "x"}]}, "invalid_blocks"),
        ("chat.update", {"ts": BOTS, "text": "x", "unfurl_links": False}, "invalid_arguments"),
        ("chat.update", {"ts": ALICES, "text": "x"}, "cant_update_message"),
        ("chat.update", {"ts": WHISPERED, "text": "x"}, "message_not_found"),
        ("chat.delete", {"ts": ALICES}, "cant_delete_message"),
        ("reactions.add", {"timestamp": BOTS, "name": ":eyes:"}, "invalid_name"),
        ("conversations.open", {"users": names.OTHER_BOT}, "cannot_dm_bot"),
        ("views.open", {"trigger_id": "1.x", "view": FORM}, "invalid_trigger_id"),
        ("views.update", {"view_id": "V0", "view": FORM}, "not_found"),
    ],
)
async def test_a_call_that_slack_refuses_is_refused(
    slack: FakeSlack, api: AsyncWebClient, method: str, arguments: Json, code: str
) -> None:
    slack.write(names.ALICE, HELP, {"text": "mine"})
    await api.chat_postMessage(channel=HELP, text="the bot's")
    await api.chat_postEphemeral(channel=HELP, user=names.ALICE, text="psst")
    assert (await refused(api, method, {"channel": HELP, **arguments}))["error"] == code


@pytest.mark.parametrize(
    "change",
    [
        {"title": plain("x" * 25)},
        {"submit": plain("x" * 25)},
        {"submit": None},
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
    view = {key: value for key, value in {**FORM, **change}.items() if value is not None}
    trigger = slack.tickets.trigger(names.ALICE)
    answer = await refused(api, "views.open", {"trigger_id": trigger, "view": view})
    assert answer["error"] == "invalid_arguments"


REFUSED: list[Json] = [
    {"type": "image", "image_url": "https://x", "alt_text": "x"},
    {"type": "markdown", "text": ""},
    {"type": "markdown", "text": "x" * 12_001},
    {"type": "section"},
    {"type": "section", "text": "x"},
    {"type": "section", "text": mrkdwn("")},
    {"type": "section", "text": mrkdwn("x" * 3001)},
    {"type": "section", "fields": [mrkdwn("x")] * 11},
    {"type": "section", "fields": [mrkdwn("x" * 2001)]},
    {"type": "section", "text": mrkdwn("x"), "accessory": FEEDBACK},
    {"type": "section", "text": mrkdwn("x"), "colour": "red"},
    {"type": "context", "elements": []},
    {"type": "context", "elements": [mrkdwn("x")] * 11},
    row(),
    row(*[button(action_id=f"a{n}") for n in range(26)]),
    row(button(), button()),
    row(button(text=mrkdwn("x"))),
    row(button(text=plain("x" * 76))),
    row(button(value="x" * 2001)),
    row(button(action_id="x" * 256)),
    row(button(style="green")),
    row(button(), block_id="x" * 256),
    row(FEEDBACK),
    row({**MENU, "options": []}),
    row({**MENU, "options": options(101)}),
    row({**MENU, "options": [*options(1), *options(1)]}),
    row({**MENU, "initial_option": options(3)[2]}),
    row({**MENU, "option_groups": [{"label": plain("x"), "options": options()}]}),
    row({**MENU, "options": [{"text": plain("x" * 76), "value": "x"}]}),
    row({**MENU, "options": [{"text": plain("x"), "value": "x" * 151}]}),
    row({**MENU, "placeholder": mrkdwn("x")}),
    {"type": "context_actions", "elements": [button()]},
    {"type": "context_actions", "elements": [{**FEEDBACK, "positive_button": plain("x")}]},
    input_block(button()),
    input_block({"type": "checkboxes", "options": options(11)}),
    input_block({"type": "radio_buttons", "options": options(11)}),
    input_block({**TEXT, "max_length": 3001}),
    {"type": "input", "label": mrkdwn("x"), "element": TEXT},
]


@pytest.mark.parametrize("block", REFUSED, ids=lambda block: str(block)[:70])
def test_a_block_that_slack_would_not_show_is_wrong(block: Json) -> None:
    assert wrong_in([block], BLOCK_TYPES)


def test_a_message_has_its_limits_as_a_whole() -> None:
    text = {"type": "markdown", "text": "x" * 6_000}
    assert refusal({"blocks": [SECTION] * 50}, BLOCK_TYPES) == ""
    assert refusal({"blocks": [SECTION] * 51}, BLOCK_TYPES) == "invalid_blocks"
    assert refusal({"blocks": [text, text]}, BLOCK_TYPES) == ""
    more = [text, text, {"type": "markdown", "text": "x"}]
    assert refusal({"blocks": more}, BLOCK_TYPES) == "msg_blocks_too_long"
    assert refusal({"text": ""}, BLOCK_TYPES) == "no_text"
    assert refusal({"text": "x" * 40_001}, BLOCK_TYPES) == "msg_too_long"


def test_ids_are_unique_where_slack_needs_them_to_be() -> None:
    twice = [row(button(), block_id="b")] * 2
    assert "not unique" in wrong_in(twice, BLOCK_TYPES)
    assert wrong_in([row(button()), row(button())], BLOCK_TYPES) == ""


def test_views_take_more_blocks_but_not_those_of_messages() -> None:
    assert wrong_in([SECTION] * 100, BLOCK_TYPES, view=True) == ""
    assert wrong_in([SECTION] * 101, BLOCK_TYPES, view=True)
    assert wrong_in([{"type": "markdown", "text": "x"}], BLOCK_TYPES, view=True)
    assert wrong_in([{"type": "context_actions", "elements": [FEEDBACK]}], BLOCK_TYPES, view=True)


@given(st.lists(st.floats(min_value=0.0, max_value=3.0), min_size=1, max_size=60))
def test_no_channel_takes_more_than_a_burst_and_a_post_a_second(pauses: list[float]) -> None:
    clock = [0.0]
    rates = Rates(lambda: clock[0])
    taken: list[float] = []
    for pause in pauses:
        clock[0] += pause
        if rates.wait("chat.postMessage", {"channel": "C1"}) == 0:
            taken.append(clock[0])
    for first, begin in enumerate(taken):
        for count, end in enumerate(taken[first:], start=1):
            assert count <= POST_BURST + (end - begin) + 1e-6
