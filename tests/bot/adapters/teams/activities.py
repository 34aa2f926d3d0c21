"""Activities as Teams sends them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient

from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import Message
from bot.platforms.teams.payloads.messages import question_of
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.conversations import chat_of

Client = TestClient[Any, Any]
BOT = names.BOT
CHANNEL = names.HELP
CHAT = chat_of(names.ALICE)
MENTION = {
    "type": "mention",
    "mentioned": {"id": BOT, "name": "Help"},
    "text": "<at>Help</at>",
}


def in_channel(teams: FakeTeams, text: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": "message",
        "id": "1700000000001",
        "timestamp": "2026-11-21T10:00:00.000Z",
        "serviceUrl": teams.url,
        "channelId": "msteams",
        "from": {"id": "29:alice", "name": "Alice", "aadObjectId": names.ALICE},
        "conversation": {
            "id": f"{CHANNEL};messageid=1700000000000",
            "conversationType": "channel",
            "isGroup": True,
            "tenantId": names.ENTRA,
        },
        "recipient": {"id": BOT, "name": "Help"},
        "entities": [MENTION],
        "channelData": {"tenant": {"id": names.ENTRA}, "team": {"id": names.TEAM}},
        "text": text,
        "textFormat": "plain",
        "locale": "en-GB",
        **changes,
    }


def in_person(teams: FakeTeams, text: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    conversation = {"id": CHAT, "conversationType": "personal", "tenantId": names.ENTRA}
    return in_channel(teams, text, conversation=conversation, entities=[], **changes)


def question(teams: FakeTeams, *, private: bool = False) -> Message:
    """Return a question as the endpoint hands it on."""
    asked = in_person(teams, "vpn?") if private else in_channel(teams, "<at>Help</at> vpn?")
    message = question_of(asked, tenant="acme", received_at=datetime.now(UTC))
    assert message is not None
    return message


def into(placeholder: PostedRef | None, sent: Delivery) -> Delivery:
    """Return a delivery whose question has a placeholder."""
    return replace(sent, placeholder=placeholder)


async def send(
    client: Client, teams: FakeTeams, activity: dict[str, Any], *, token: str | None = None
) -> ClientResponse:
    headers = {"Authorization": f"Bearer {token or teams.token()}"}
    return await client.post("/api/messages", json=activity, headers=headers)
