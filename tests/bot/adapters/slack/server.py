"""A Slack that runs here: keeps what was posted, refuses what Slack refuses, fails on demand."""

from __future__ import annotations

import html
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.bot.adapters.slack.blocks import BLOCK_TYPES, block_text, refusal
from tests.bot.adapters.slack.wire import arguments_of, error, ok, permalink

BOT_USER = "U0BOT0000"
TEAM = "T0TEAM000"
TOKEN = "xoxb-test"


@dataclass(frozen=True)
class Fault:
    """What happens to the next call of a method.

    ``status`` is the HTTP answer, 0 cuts the connection. ``after`` lets the call have its effect
    first. ``error`` is Slack's code in an answer of 200. ``page`` is what a proxy says instead.
    """

    status: int = 200
    error: str = ""
    after: bool = False
    retry_after: str = ""
    page: str = ""


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
    def part(self) -> str:
        """Which part of a reply it says it is, "" when it says nothing."""
        payload = (self.payload.get("metadata") or {}).get("event_payload") or {}
        return str(payload.get("part", ""))

    @property
    def raw(self) -> str:
        """Everything that Slack was given to show."""
        blocks = self.payload.get("blocks") or []
        return "\n".join(block_text(block) for block in blocks) or str(self.payload["text"])

    @property
    def shown(self) -> str:
        """What a person reads: the blocks, or the text where there are none."""
        return html.unescape(self.raw)


@dataclass
class FakeSlack:
    """State and address of one workspace.

    The bot is a member of ``channels``. ``page_size`` is the most that one list returns, whatever
    is asked for; ``gone`` are questions that their askers deleted.
    """

    posts: list[Post] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    faults: dict[str, deque[Fault | None]] = field(default_factory=lambda: defaultdict(deque))
    channels: set[str] = field(default_factory=lambda: {"C0HELP000", "C0PEOPLE0", "D0ALICE00"})
    archived: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    page_size: int = 1_000
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

    def fail(self, method: str, *faults: Fault | None) -> None:
        """Say what happens to the next calls of a method; None lets one pass."""
        self.faults[method].extend(faults)

    def in_thread(self, channel: str, thread_ts: str) -> list[Post]:
        return [p for p in self.posts if p.channel == channel and p.thread_ts == thread_ts]

    def in_channel(self, channel: str) -> list[Post]:
        return [p for p in self.posts if p.channel == channel]

    def say(self, channel: str, thread_ts: str | None, count: int) -> None:
        """Have people write messages, ``count`` of them."""
        for number in range(count):
            said = {"text": f"chatter {number}"}
            self.posts.append(Post(channel, self._next_ts(), thread_ts, said, user="U0BOB0000"))

    async def _handle(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        self.calls.append(method)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return error("invalid_auth")
        fault = self.faults[method].popleft() if self.faults[method] else None
        if fault and not fault.after:
            return self._fault(request, fault)
        answer = self._answer(method, await arguments_of(request))
        return self._fault(request, fault) if fault else answer

    def _fault(self, request: web.Request, fault: Fault) -> web.Response:
        if fault.status == 0:
            assert request.transport
            request.transport.close()
        headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
        if fault.page:
            return web.Response(text=fault.page, status=fault.status)
        body = {"ok": False, "error": fault.error or "internal_error"}
        return web.json_response(body, status=fault.status or 500, headers=headers)

    def _answer(self, method: str, arguments: dict[str, Any]) -> web.Response:
        effects: dict[str, Callable[[dict[str, Any]], web.Response]] = {
            "auth.test": self._auth_test,
            "chat.postMessage": lambda given: self._post(given, only_for=None),
            "chat.postEphemeral": lambda given: self._post(given, only_for=given["user"]),
            "chat.update": self._update,
            "chat.delete": self._delete,
            "conversations.replies": self._replies,
            "conversations.history": self._history,
            "assistant.threads.setStatus": self._set_status,
            "chat.getPermalink": permalink,
        }
        effect = effects.get(method)
        return effect(arguments) if effect else error("unknown_method")

    def _auth_test(self, _: dict[str, Any]) -> web.Response:
        answer = ok(user_id=BOT_USER, bot_id="B0BOT0000", team_id=TEAM)
        answer.headers["x-oauth-scopes"] = ",".join(self.scopes)
        return answer

    def _set_status(self, arguments: dict[str, Any]) -> web.Response:
        self.statuses.append(arguments["status"])
        return ok()

    def _post(self, payload: dict[str, Any], only_for: str | None) -> web.Response:
        wrong = self._closed(payload["channel"]) or refusal(payload, self.block_types)
        if wrong:
            return error(wrong)
        ts = self._next_ts()
        self.posts.append(
            Post(payload["channel"], ts, payload.get("thread_ts"), payload, only_for=only_for)
        )
        return ok(channel=payload["channel"], ts=ts)

    def _update(self, payload: dict[str, Any]) -> web.Response:
        post = self._post_at(payload)
        if post is None:
            return error("message_not_found")
        post.payload = {**post.payload, **payload}
        return ok(channel=post.channel, ts=post.ts)

    def _delete(self, payload: dict[str, Any]) -> web.Response:
        closed = self._closed(payload["channel"])
        if closed:
            return error(closed)
        post = self._post_at(payload)
        if post is None or post.user != BOT_USER:
            return error("cant_delete_message" if post else "message_not_found")
        self.posts.remove(post)
        return ok(channel=post.channel, ts=post.ts)

    def _post_at(self, payload: Mapping[str, Any]) -> Post | None:
        at = (payload["channel"], payload["ts"])
        shown = (post for post in self.posts if not post.only_for)
        return next((post for post in shown if (post.channel, post.ts) == at), None)

    def _replies(self, arguments: dict[str, Any]) -> web.Response:
        """List a thread, oldest first; its first message is on every page."""
        channel, thread = arguments["channel"], str(arguments["ts"])
        if channel not in self.channels:
            return error("channel_not_found")
        replies = [post for post in self.in_thread(channel, thread) if not post.only_for]
        if thread in self.gone and not replies:
            return error("thread_not_found")
        root = {"ts": thread, "user": "U0ALICE00", "text": "the question"}
        return self._page(arguments, replies, [root])

    def _history(self, arguments: dict[str, Any]) -> web.Response:
        """List a channel, newest first."""
        channel = arguments["channel"]
        if channel not in self.channels:
            return error("not_in_channel")
        top = [p for p in self.in_channel(channel) if p.thread_ts is None and not p.only_for]
        return self._page(arguments, top[::-1], [])

    def _page(
        self, arguments: dict[str, Any], posts: list[Post], before: list[dict[str, Any]]
    ) -> web.Response:
        since = str(arguments.get("oldest", "0"))
        listed = [_listed(post, arguments) for post in posts if post.ts > since]
        begin = int(arguments.get("cursor") or 0)
        end = begin + min(int(arguments.get("limit", 100)), self.page_size)
        more = end < len(listed)
        cursor = str(end) if more else ""
        return ok(
            messages=before + listed[begin:end],
            has_more=more,
            response_metadata={"next_cursor": cursor},
        )

    def _closed(self, channel: str) -> str:
        if channel in self.archived:
            return "is_archived"
        return "" if channel in self.channels else "channel_not_found"

    def _next_ts(self) -> str:
        self._clock += 1
        return f"1800000000.{self._clock:06d}"


def _listed(post: Post, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as lists show it; metadata only to those who ask for it."""
    shown = {"ts": post.ts, "user": post.user, "text": post.payload["text"]}
    wanted = str(arguments.get("include_all_metadata", "")).lower() in {"1", "true"}
    metadata = post.payload.get("metadata") if wanted else None
    return {**shown, "metadata": metadata} if metadata else shown
