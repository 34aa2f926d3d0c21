"""Asking the double something, and being refused: for tests of it."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.answers import Json
from tests.bot.adapters.slack.workspace.names import HELP
from tests.bot.adapters.slack.workspace.posts import Post


async def refused(call: Awaitable[AsyncSlackResponse], code: str) -> AsyncSlackResponse:
    """Return the answer of a call that must be refused with a code."""
    with pytest.raises(SlackApiError) as caught:
        await call
    answer = caught.value.response
    assert isinstance(answer, AsyncSlackResponse)
    assert answer["error"] == code
    return answer


async def posted(
    api: AsyncWebClient, slack: FakeSlack, *blocks: Json, metadata: Json | None = None
) -> Post:
    """Post a message of blocks and return it."""
    await api.chat_postMessage(channel=HELP, text="x", blocks=[*blocks] or None, metadata=metadata)
    return slack.posts[-1]
