"""What an activity says of where the bot is."""

from __future__ import annotations

from typing import Any

import pytest

from bot.platforms.teams.tenant.installation import (
    InstallationChange,
    changed_conversation_of,
    installation_change_of,
)

BOT = {"id": "28:app"}
ALICE = {"id": "29:alice"}


def activity(kind: str, event: str = "", **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": kind,
        "recipient": BOT,
        "conversation": {"id": "19:general@thread.tacv2"},
        "channelData": {"eventType": event, "channel": {"id": "19:help@thread.tacv2"}},
        **changes,
    }


@pytest.mark.parametrize(
    ("body", "change"),
    [
        (activity("installationUpdate", action="add"), "added"),
        (activity("installationUpdate", action="remove"), "removed"),
        (activity("installationUpdate", action="add-upgrade"), "reopened"),
        (activity("installationUpdate", action="remove-upgrade"), None),
        (activity("installationUpdate", action=7), None),
        (activity("conversationUpdate", membersAdded=[ALICE, BOT]), "added"),
        (activity("conversationUpdate", membersRemoved=[BOT]), "removed"),
        (activity("conversationUpdate", membersAdded=[ALICE]), None),
        (activity("conversationUpdate", membersAdded="28:app"), None),
        (activity("conversationUpdate", "channelDeleted"), "closed"),
        (activity("conversationUpdate", "channelRestored"), "reopened"),
        (activity("conversationUpdate", "teamArchived"), "closed"),
        (activity("conversationUpdate", "teamUnarchived"), "reopened"),
        (activity("conversationUpdate", "teamRenamed"), None),
        (activity("message", "channelDeleted", membersRemoved=[BOT]), None),
        ({"type": "conversationUpdate", "membersRemoved": [{}]}, None),
    ],
)
def test_what_changes(body: dict[str, Any], change: InstallationChange | None) -> None:
    assert installation_change_of(body) == change


def test_what_happens_to_a_channel_is_about_that_channel() -> None:
    assert (
        changed_conversation_of(activity("conversationUpdate", "channelDeleted"))
        == "19:help@thread.tacv2"
    )
    assert (
        changed_conversation_of(activity("installationUpdate", action="add"))
        == "19:general@thread.tacv2"
    )
