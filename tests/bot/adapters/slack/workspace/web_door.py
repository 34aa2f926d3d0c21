"""Slack's signed requests over HTTP."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from urllib.parse import urlencode

import aiohttp

from tests.bot.adapters.slack.events import Client, signed
from tests.bot.adapters.slack.workspace.answers import Answer, Json

FORM = "application/x-www-form-urlencoded"
PATIENCE_SECONDS = 3.0


class WebDoor:
    """Sends as Slack does to the bot's one address, and waits as long as Slack waits."""

    def __init__(
        self, client: Client | aiohttp.ClientSession, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._client = client
        self._patience = patience_seconds

    async def event(self, envelope: Json, *, attempt: int = 0) -> Answer:
        headers = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": "http_timeout"}
        return await self._send(json.dumps(envelope).encode(), headers if attempt else {})

    async def interact(self, payload: Json) -> Answer:
        return await self.command({"payload": json.dumps(payload)})

    async def command(self, form: Mapping[str, str]) -> Answer:
        return await self._send(urlencode(form).encode(), {"Content-Type": FORM})

    async def _send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        began = time.monotonic()
        try:
            status, text = await self._answer(body, {**signed(body), **headers})
        except (TimeoutError, aiohttp.ClientError):
            status, text = 0, ""
        return Answer(status, text, time.monotonic() - began)

    async def _answer(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        async with asyncio.timeout(self._patience):
            response = await self._client.post("/slack/events", data=body, headers=headers)
            return response.status, await response.text()
