"""The way into the bot, and what it answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.test_utils import TestClient

PATIENCE_SECONDS = 15.0
Client = TestClient[Any, Any] | aiohttp.ClientSession


@dataclass(frozen=True)
class Answer:
    """An answer: its HTTP status, 0 when none came in time, its text, and the seconds it took."""

    status: int
    text: str
    seconds: float

    @property
    def body(self) -> dict[str, Any]:
        """The answer as an object, empty when it is none."""
        return dict(json.loads(self.text)) if self.text.startswith("{") else {}


async def knock(client: Client, activity: Mapping[str, Any], *, token: str = "") -> Answer:
    """Send an activity as the bot service does, and wait as long as it waits."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            response = await client.post("/api/messages", json=dict(activity), headers=headers)
            status, text = response.status, await response.text()
    except (TimeoutError, aiohttp.ClientError):
        status, text = 0, ""
    return Answer(status, text, time.monotonic() - began)
