"""The manifest asks for what the code uses, and for no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from bot.adapters.slack.endpoint import PATH

FILE = Path(__file__).parents[4] / "infra" / "slack" / "manifest.yaml"
NEEDED_BY_EVENT = {"app_mention": "app_mentions:read", "message.im": "im:history"}
NEEDED_BY_CALLS = {
    "chat:write": "chat.postMessage, chat.postEphemeral, assistant.threads.setStatus",
    "assistant:write": "agent_view",
    "im:history": "conversations.replies",
    "channels:history": "conversations.replies, conversations.history",
    "groups:history": "conversations.replies, conversations.history",
    "mpim:history": "conversations.replies",
}


@pytest.fixture
def manifest() -> dict[str, Any]:
    return dict(yaml.safe_load(FILE.read_text()))


def test_scopes_are_those_that_events_and_calls_need(manifest: dict[str, Any]) -> None:
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    needed = {NEEDED_BY_EVENT[event] for event in events} | set(NEEDED_BY_CALLS)
    assert set(manifest["oauth_config"]["scopes"]["bot"]) == needed


def test_every_scope_says_why() -> None:
    lines = [line for line in FILE.read_text().splitlines() if ":read" in line or ":write" in line]
    assert lines
    assert all("  # " in line for line in lines)


def test_events_go_where_the_server_listens(manifest: dict[str, Any]) -> None:
    url = manifest["settings"]["event_subscriptions"]["request_url"]
    assert urlsplit(url).path == PATH


def test_direct_messages_can_be_written(manifest: dict[str, Any]) -> None:
    home = manifest["features"]["app_home"]
    assert home["messages_tab_enabled"]
    assert not home["messages_tab_read_only_enabled"]


def test_slacks_limits_are_kept(manifest: dict[str, Any]) -> None:
    view = manifest["features"]["agent_view"]
    assert len(view["agent_description"]) <= 300
    assert len(view["suggested_prompts"]) <= 4
    assert len(manifest["display_information"]["name"]) <= 35
    assert len(manifest["display_information"]["description"]) <= 140
