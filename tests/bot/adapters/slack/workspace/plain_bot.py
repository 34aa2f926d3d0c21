"""A bot that keeps what Slack sends it and answers what it was told to: for tests of the double."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from slack_sdk.signature import SignatureVerifier

from tests.bot.adapters.slack.events import SECRET


@dataclass
class PlainBot:
    """What came, newest last, and what is answered to everything."""

    status: int = 200
    body: object = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [body["event"] for body in self.bodies if "event" in body]

    @property
    def last(self) -> dict[str, Any]:
        return self.bodies[-1]

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/slack/events", self._take)
        return app

    async def _take(self, request: web.Request) -> web.Response:
        raw = await request.read()
        if not SignatureVerifier(SECRET).is_valid_request(raw, dict(request.headers)):
            return web.Response(status=401)
        self.bodies.append(_read(request.content_type, raw.decode()))
        self.headers.append(dict(request.headers))
        if isinstance(self.body, str):
            return web.Response(text=self.body, status=self.status)
        return web.json_response(self.body, status=self.status)


def _read(content_type: str, text: str) -> dict[str, Any]:
    if content_type == "application/json":
        return dict(json.loads(text))
    form = dict(parse_qsl(text, keep_blank_values=True))
    return dict(json.loads(form["payload"])) if "payload" in form else form
