"""Sample blocks and posts, and calls that the fake Slack must refuse."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from tests.fakes.slack.exchange import Json
from tests.fakes.slack.names import HELP
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack

BUTTON: Json = {
    "type": "button",
    "action_id": "ask",
    "text": {"type": "plain_text", "text": "Ask a person"},
    "value": "q1",
}
ROW: Json = {"type": "actions", "elements": [BUTTON]}


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def options(count: int = 2) -> list[Json]:
    return [{"text": plain(f"Choice {n}"), "value": f"c{n}"} for n in range(count)]


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def button(**changes: object) -> Json:
    return {**BUTTON, **changes}


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
TRASH: Json = {"type": "icon_button", "icon": "trash", "text": plain("Remove"), "value": "x"}
MENU: Json = {"type": "static_select", "action_id": "pick", "options": options()}
TEXT: Json = {"type": "plain_text_input", "action_id": "say"}


async def refused_call(call: Awaitable[AsyncSlackResponse], code: str) -> AsyncSlackResponse:
    """Return the answer of a call that must be refused with a code."""
    with pytest.raises(SlackApiError) as caught:
        await call
    answer = caught.value.response
    assert isinstance(answer, AsyncSlackResponse)
    assert answer["error"] == code
    return answer


async def post_blocks(
    api: AsyncWebClient, slack: FakeSlack, *blocks: Json, metadata: Json | None = None
) -> Post:
    """Post a message of blocks and return it."""
    await api.chat_postMessage(channel=HELP, text="x", blocks=[*blocks] or None, metadata=metadata)
    return slack.posts[-1]
