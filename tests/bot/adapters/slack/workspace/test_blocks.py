"""Blocks that Slack takes, and those that it refuses."""

from __future__ import annotations

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.bot.adapters.slack.blocks import BLOCK_TYPES, refusal, wrong_in
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.answers import Json
from tests.bot.adapters.slack.workspace.asking import posted, refused
from tests.bot.adapters.slack.workspace.names import HELP
from tests.bot.adapters.slack.workspace.samples import (
    BUTTON,
    FEEDBACK,
    MENU,
    ROW,
    TEXT,
    TRASH,
    asks,
    button,
    mrkdwn,
    options,
    plain,
    row,
)

TAKEN: list[Json] = [
    {"type": "markdown", "text": "**hi**"},
    {"type": "section", "text": mrkdwn("x" * 3000), "accessory": BUTTON},
    {"type": "section", "fields": [mrkdwn("x" * 2000), *[mrkdwn("x")] * 9]},
    {"type": "section", "text": plain("x"), "accessory": {**MENU, "initial_option": options()[1]}},
    {"type": "context", "elements": [mrkdwn("x")] * 10},
    row(*[button(action_id=f"a{n}") for n in range(25)]),
    row(button(url="https://x.example", style="danger")),
    row(MENU),
    {"type": "context_actions", "elements": [FEEDBACK, TRASH]},
    asks(TEXT),
    asks(MENU, optional=True, hint=plain("any")),
    asks({"type": "multi_static_select", "options": options(100), "max_selected_items": 3}),
    asks({"type": "checkboxes", "options": options(10), "initial_options": options(1)}),
    asks({"type": "radio_buttons", "options": options(10)}),
    asks({"type": "conversations_select", "filter": {"include": ["public"]}}),
    asks({"type": "number_input", "is_decimal_allowed": False, "min_value": "1"}),
    {"type": "divider"},
    {"type": "header", "text": plain("x" * 150)},
]


@pytest.mark.parametrize("block", TAKEN, ids=lambda block: str(block["type"]))
async def test_every_block_that_the_bot_uses_is_taken(
    slack: FakeSlack, api: AsyncWebClient, block: Json
) -> None:
    assert (await posted(api, slack, {**block, "block_id": "b" * 255})).blocks


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
    row(BUTTON, BUTTON),
    row(button(text=mrkdwn("x"))),
    row(button(text=plain("x" * 76))),
    row(button(value="x" * 2001)),
    row(button(action_id="x" * 256)),
    row(button(style="green")),
    row(BUTTON, block_id="x" * 256),
    row(FEEDBACK),
    row({**MENU, "options": []}),
    row({**MENU, "options": options(101)}),
    row({**MENU, "options": [*options(1), *options(1)]}),
    row({**MENU, "initial_option": options(3)[2]}),
    row({**MENU, "option_groups": [{"label": plain("x"), "options": options()}]}),
    row({**MENU, "options": [{"text": plain("x" * 76), "value": "x"}]}),
    row({**MENU, "options": [{"text": plain("x"), "value": "x" * 151}]}),
    row({**MENU, "placeholder": mrkdwn("x")}),
    {"type": "context_actions", "elements": [BUTTON]},
    {"type": "context_actions", "elements": [{**FEEDBACK, "positive_button": plain("x")}]},
    asks(BUTTON),
    asks({"type": "checkboxes", "options": options(11)}),
    asks({"type": "radio_buttons", "options": options(11)}),
    asks({"type": "number_input"}),
    asks({**TEXT, "max_length": 3001}),
    {"type": "input", "label": mrkdwn("x"), "element": TEXT},
    {"type": "header", "text": plain("x" * 151)},
    {"type": "header", "text": mrkdwn("x")},
    {"type": "divider", "text": plain("x")},
]


@pytest.mark.parametrize("block", REFUSED, ids=lambda block: str(block)[:70])
async def test_what_slack_would_not_show_is_refused_with_a_reason(
    slack: FakeSlack, api: AsyncWebClient, block: Json
) -> None:
    # As the bot's own calls go, without the SDK's checks before them.
    call = api.api_call("chat.postMessage", json={"channel": HELP, "text": "x", "blocks": [block]})
    answer = await refused(call, "invalid_blocks")
    assert answer["response_metadata"]["messages"][0].startswith("[ERROR] blocks/0: ")
    assert not slack.posts


def test_a_message_has_its_limits_as_a_whole() -> None:
    text = {"type": "markdown", "text": "x" * 6_000}
    assert refusal({"blocks": [{"type": "divider"}] * 50}, BLOCK_TYPES) == ""
    assert refusal({"blocks": [{"type": "divider"}] * 51}, BLOCK_TYPES) == "invalid_blocks"
    assert refusal({"blocks": [text, text]}, BLOCK_TYPES) == ""
    more = [text, text, {"type": "markdown", "text": "x"}]
    assert refusal({"blocks": more}, BLOCK_TYPES) == "msg_blocks_too_long"
    assert refusal({"text": ""}, BLOCK_TYPES) == "no_text"
    assert refusal({"text": "x" * 40_001}, BLOCK_TYPES) == "msg_too_long"


def test_ids_are_unique_where_slack_needs_them_to_be() -> None:
    twice = [{**ROW, "block_id": "b"}, {**ROW, "block_id": "b"}]
    assert "not unique" in wrong_in(twice, BLOCK_TYPES)
    assert wrong_in([ROW, ROW], BLOCK_TYPES) == ""


def test_views_take_more_blocks_but_not_those_of_messages() -> None:
    assert wrong_in([{"type": "divider"}] * 100, BLOCK_TYPES, view=True) == ""
    assert wrong_in([{"type": "divider"}] * 101, BLOCK_TYPES, view=True)
    assert wrong_in([{"type": "markdown", "text": "x"}], BLOCK_TYPES, view=True)
    assert wrong_in([{"type": "context_actions", "elements": [TRASH]}], BLOCK_TYPES, view=True)


async def test_a_type_that_a_workspace_does_not_know_is_refused(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    slack.block_types = frozenset({"section"})
    await refused(api.chat_postMessage(channel=HELP, text="x", blocks=[ROW]), "invalid_blocks")


async def test_what_a_person_reads_are_texts_and_labels(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    section = {"type": "section", "text": mrkdwn("a &lt; b"), "accessory": MENU}
    post = await posted(
        api, slack, section, ROW, {"type": "context_actions", "elements": [FEEDBACK]}
    )
    shown = ["a < b", "Choice 0", "Choice 1", "Ask a person", "Good", "Bad"]
    assert post.shown.splitlines() == shown
    assert post.labels == shown[1:]
