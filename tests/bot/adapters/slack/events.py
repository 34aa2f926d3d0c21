"""Events as Slack sends them, and the signature on them."""

from __future__ import annotations

import json
import time
from typing import Any

from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient
from slack_sdk.signature import SignatureVerifier

from tests.bot.adapters.slack.workspace.names import BOT_USER, TEAM

SECRET = "signing-secret"
ALICE = "U0ALICE00"

Client = TestClient[Any, Any]


def envelope(event: dict[str, Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    authorization = {
        "enterprise_id": None,
        "team_id": TEAM,
        "user_id": BOT_USER,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "token": "x",
        "team_id": TEAM,
        "api_app_id": "A0APP0000",
        "event": event,
        "type": "event_callback",
        "event_id": "Ev1",
        "event_time": 1700000000,
        "authorizations": [authorization],
        "is_ext_shared_channel": False,
        **changes,
    }


def mention(text: str, ts: str = "1700000000.000100", **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": "app_mention",
        "user": ALICE,
        "text": f"<@{BOT_USER}> {text}",
        "ts": ts,
        "team": TEAM,
        "channel": "C0HELP000",
        "event_ts": ts,
        **changes,
    }


def direct(text: str, ts: str = "1700000000.000200", **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": "message",
        "user": ALICE,
        "text": text,
        "ts": ts,
        "channel": "D0ALICE00",
        "channel_type": "im",
        "event_ts": ts,
        **changes,
    }


def signed(body: bytes, *, secret: str = SECRET, timestamp: str | None = None) -> dict[str, str]:
    at = timestamp or str(int(time.time()))
    signature = SignatureVerifier(secret).generate_signature(timestamp=at, body=body)
    return {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": at,
        "X-Slack-Signature": signature or "",
    }


async def send(client: Client, payload: dict[str, Any], **headers: str) -> ClientResponse:
    body = json.dumps(payload).encode()
    return await client.post("/slack/events", data=body, headers={**signed(body), **headers})


def app_uninstalled() -> dict[str, Any]:
    return {"type": "app_uninstalled"}


def tokens_revoked(*, bots: tuple[str, ...] = (BOT_USER,)) -> dict[str, Any]:
    return {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": list(bots)}}
