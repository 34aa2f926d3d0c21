"""A Slack that runs here: keeps what was posted, refuses what Slack refuses, fails on demand."""

from __future__ import annotations

import html
import json
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

BOT_USER = "U0BOT0000"
TEAM = "T0TEAM000"
TOKEN = "xoxb-test"
MARKDOWN_LIMIT = 12_000
BLOCK_TYPES = frozenset({"markdown", "section", "context"})


@dataclass(frozen=True)
class Fault:
    """What happens to the next call of a method.

    ``status`` is the HTTP answer, 0 cuts the connection. ``after`` lets the call have its effect
    first. ``error`` is Slack's code in an answer of 200.
    """

    status: int = 200
    error: str = ""
    after: bool = False
    retry_after: str = ""


@dataclass
class Post:
    """A message as it is in a channel."""

    channel: str
    ts: str
    thread_ts: str | None
    payload: Mapping[str, Any]
    user: str = BOT_USER
    only_for: str | None = None

    @property
    def raw(self) -> str:
        """Everything that Slack was given to show."""
        blocks = self.payload.get("blocks") or []
        return "\n".join(_block_text(block) for block in blocks) or str(self.payload["text"])

    @property
    def shown(self) -> str:
        """What a person reads: the blocks, or the text where there are none."""
        return html.unescape(self.raw)


@dataclass
class FakeSlack:
    """State and address of one workspace."""

    posts: list[Post] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    channels: set[str] = field(default_factory=lambda: {"C0HELP000", "C0PEOPLE0", "D0ALICE00"})
    block_types: frozenset[str] = BLOCK_TYPES
    scopes: tuple[str, ...] = (
        "app_mentions:read",
        "chat:write",
        "im:history",
        "channels:history",
    )
    url: str = ""
    _clock: int = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeSlack]:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._handle)
        async with TestServer(app, host="127.0.0.1") as server:
            self.url = str(server.make_url("/api/"))
            yield self

    def fail(self, method: str, *faults: Fault) -> None:
        self.faults[method].extend(faults)

    def in_thread(self, channel: str, thread_ts: str) -> list[Post]:
        return [p for p in self.posts if p.channel == channel and p.thread_ts == thread_ts]

    def in_channel(self, channel: str) -> list[Post]:
        return [p for p in self.posts if p.channel == channel]

    async def _handle(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        self.calls.append(method)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _error("invalid_auth")
        fault = self.faults[method].popleft() if self.faults[method] else None
        if fault and not fault.after:
            return self._fault(request, fault)
        answer = self._answer(method, await _arguments(request))
        return self._fault(request, fault) if fault else answer

    def _fault(self, request: web.Request, fault: Fault) -> web.Response:
        if fault.status == 0:
            assert request.transport
            request.transport.close()
        headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
        body = {"ok": False, "error": fault.error or "internal_error"}
        return web.json_response(body, status=fault.status or 500, headers=headers)

    def _answer(self, method: str, arguments: dict[str, Any]) -> web.Response:
        effects: dict[str, Callable[[dict[str, Any]], web.Response]] = {
            "auth.test": self._auth_test,
            "chat.postMessage": lambda given: self._post(given, only_for=None),
            "chat.postEphemeral": lambda given: self._post(given, only_for=given["user"]),
            "chat.update": self._update,
            "conversations.replies": lambda given: self._list(given, thread=given["ts"]),
            "conversations.history": lambda given: self._list(given, thread=None),
            "assistant.threads.setStatus": self._set_status,
            "chat.getPermalink": _permalink,
        }
        effect = effects.get(method)
        return effect(arguments) if effect else _error("unknown_method")

    def _auth_test(self, _: dict[str, Any]) -> web.Response:
        answer = _ok(user_id=BOT_USER, bot_id="B0BOT0000", team_id=TEAM)
        answer.headers["x-oauth-scopes"] = ",".join(self.scopes)
        return answer

    def _set_status(self, arguments: dict[str, Any]) -> web.Response:
        self.statuses.append(arguments["status"])
        return _ok()

    def _post(self, payload: dict[str, Any], only_for: str | None) -> web.Response:
        if payload["channel"] not in self.channels:
            return _error("channel_not_found")
        wrong = self._refusal(payload)
        if wrong:
            return _error(wrong)
        self._clock += 1
        ts = f"1800000000.{self._clock:06d}"
        self.posts.append(
            Post(payload["channel"], ts, payload.get("thread_ts"), payload, only_for=only_for)
        )
        return _ok(channel=payload["channel"], ts=ts)

    def _update(self, payload: dict[str, Any]) -> web.Response:
        for post in self.posts:
            if (post.channel, post.ts) == (payload["channel"], payload["ts"]):
                post.payload = {**post.payload, **payload}
                return _ok(channel=post.channel, ts=post.ts)
        return _error("message_not_found")

    def _list(self, arguments: dict[str, Any], thread: str | None) -> web.Response:
        since = arguments.get("oldest", "0")
        listed = [
            {"ts": p.ts, "user": p.user, "text": p.payload["text"]}
            | ({"metadata": p.payload["metadata"]} if "metadata" in p.payload else {})
            for p in self.posts
            if p.channel == arguments["channel"] and p.thread_ts == thread and p.ts > since
        ]
        return _ok(messages=listed[: int(arguments.get("limit", 100))], has_more=False)

    def _refusal(self, payload: Mapping[str, Any]) -> str:
        blocks = payload.get("blocks") or []
        if not (blocks or payload.get("text")):
            return "no_text"
        if len(blocks) > 50 or any(not self._takes(block) for block in blocks):
            return "invalid_blocks"
        written = sum(len(b["text"]) for b in blocks if b["type"] == "markdown")
        if written > MARKDOWN_LIMIT or sum(len(_block_text(b)) for b in blocks) > 13_200:
            return "msg_blocks_too_long"
        return "msg_too_long" if len(payload.get("text", "")) > 40_000 else ""

    def _takes(self, block: Mapping[str, Any]) -> bool:
        match block.get("type"):
            case kind if kind not in self.block_types:
                return False
            case "markdown":
                return isinstance(block["text"], str) and 0 < len(block["text"]) <= MARKDOWN_LIMIT
            case "section":
                return block["text"]["type"] == "mrkdwn" and 0 < len(block["text"]["text"]) <= 3000
            case _:
                return 0 < len(block["elements"]) <= 10


def _block_text(block: Mapping[str, Any]) -> str:
    if "elements" in block:
        return "\n".join(str(element["text"]) for element in block["elements"])
    text = block["text"]
    return str(text["text"] if isinstance(text, dict) else text)


async def _arguments(request: web.Request) -> dict[str, Any]:
    if request.content_type == "application/json":
        return dict(await request.json())
    given = {**request.query, **await request.post()}
    return {key: _decoded(str(value)) for key, value in given.items()}


def _decoded(value: str) -> Any:  # noqa: ANN401  # a form may hold any JSON
    return json.loads(value) if value[:1] in {"[", "{"} else value


def _permalink(arguments: dict[str, Any]) -> web.Response:
    link = f"https://acme.slack.com/archives/{arguments['channel']}"
    return _ok(permalink=f"{link}/p{arguments['message_ts'].replace('.', '')}")


def _ok(**fields: object) -> web.Response:
    return web.json_response({"ok": True, **fields})


def _error(code: str) -> web.Response:
    return web.json_response({"ok": False, "error": code})
