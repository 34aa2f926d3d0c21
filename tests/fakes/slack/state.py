"""The state of the workspace: its tickets, call rates, sockets, and all that was posted."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, MutableSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import WSMsgType, web

from tests.fakes.slack import names
from tests.fakes.slack import people as scopes
from tests.fakes.slack.blocks import BLOCK_TYPES
from tests.fakes.slack.exchange import Answer, Fault, Json, Request
from tests.fakes.slack.people import Archived, Joined, Member, Rooms, everybody, everywhere, joined
from tests.fakes.slack.posts import Post, StoredFile, View

TRIGGER_SECONDS = 3.0
RESPONSE_SECONDS = 30 * 60.0
RESPONSE_USES = 5


@dataclass
class Ticket:
    """One permission: whose, for where, since when, and how often it was used."""

    user: str
    channel: str
    since: float
    ts: str | None = None
    used: int = 0


@dataclass
class Tickets:
    """The permissions that a workspace gave out."""

    now: Callable[[], float]
    triggers: dict[str, Ticket] = field(default_factory=dict)
    responses: dict[str, Ticket] = field(default_factory=dict)
    sockets: set[str] = field(default_factory=set)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def trigger(self, user: str) -> str:
        """Return a trigger id."""
        key = f"{next(self._numbers)}.trigger"
        self.triggers[key] = Ticket(user, "", self.now())
        return key

    def redeem(self, trigger_id: str) -> Ticket | str:
        """Use a trigger id; return Slack's error when it is not good."""
        ticket = self.triggers.get(trigger_id)
        if ticket is None:
            return "invalid_trigger_id"
        if self.now() - ticket.since > TRIGGER_SECONDS:
            return "expired_trigger_id"
        ticket.used += 1
        return ticket if ticket.used == 1 else "exchanged_trigger_id"

    def response(self, user: str, channel: str, ts: str | None = None) -> str:
        """Return the id of an address to answer at; ``ts`` is the message it came from."""
        key = f"R{next(self._numbers):08d}"
        self.responses[key] = Ticket(user, channel, self.now(), ts)
        return key

    def answer(self, key: str) -> Ticket | str:
        """Use an address once more; return Slack's error when it is not good."""
        ticket = self.responses.get(key)
        if ticket is None or self.now() - ticket.since > RESPONSE_SECONDS:
            return "expired_url"
        ticket.used += 1
        return ticket if ticket.used <= RESPONSE_USES else "used_url"

    def socket(self) -> str:
        """Return the ticket of a socket, good once."""
        key = f"S{next(self._numbers):08d}"
        self.sockets.add(key)
        return key


POST_BURST = 3
"""Posts that one channel takes at once; after them it is one a second."""

_POSTED_AT = 9_000_000_000
"""Seconds since 1970, in the year 2255: after every question, whenever the tests run."""

_BURST = 5
"""Calls that even the slowest method takes at once."""

_TIERS = {1: 1, 2: 20, 3: 50, 4: 100, 5: 600}
"""Calls a minute; what Slack calls special is the fifth."""

_TIER_OF = {
    "agents.sessions.setStatus": 3,
    "apps.connections.open": 1,
    "assistant.threads.setStatus": 5,
    "assistant.threads.setSuggestedPrompts": 4,
    "chat.delete": 3,
    "chat.postEphemeral": 4,
    "chat.update": 3,
    "conversations.history": 3,
    "conversations.info": 3,
    "conversations.members": 4,
    "conversations.open": 3,
    "conversations.replies": 3,
    "reactions.add": 3,
    "reactions.remove": 3,
    "usergroups.list": 2,
    "usergroups.users.list": 2,
    "users.info": 4,
    "users.list": 2,
    "users.lookupByEmail": 3,
    "views.open": 4,
    "views.publish": 4,
    "views.update": 4,
}


@dataclass
class Bucket:
    """Permits that come back with time."""

    most: float
    per_second: float
    left: float
    at: float

    def take(self, now: float) -> float:
        """Take a permit and return 0, or return the seconds until there is one."""
        self.left = min(self.most, self.left + (now - self.at) * self.per_second)
        self.at = now
        if self.left >= 1:
            self.left -= 1
            return 0.0
        return (1 - self.left) / self.per_second


@dataclass
class Rates:
    """The permits of an app in a workspace."""

    now: Callable[[], float]
    _buckets: dict[str, Bucket] = field(default_factory=dict)

    def wait(self, method: str, arguments: Mapping[str, Any]) -> int:
        """Return 0 and count the call, or the whole seconds after which it may be tried."""
        if method == "chat.postMessage":
            bucket = self._bucket(f"post {arguments.get('channel')}", POST_BURST, 1.0)
        elif method in _TIER_OF:
            tier = _TIERS[_TIER_OF[method]]
            bucket = self._bucket(method, max(tier, _BURST), tier / 60)
        else:
            return 0
        return math.ceil(bucket.take(self.now()))

    def _bucket(self, name: str, most: float, per_second: float) -> Bucket:
        return self._buckets.setdefault(name, Bucket(most, per_second, most, self.now()))


MOST_LINKS = 10
_TRIES = 4


@dataclass(frozen=True)
class Ack:
    """What the bot sent back for an envelope; ``payload`` is None when there was none."""

    envelope_id: str
    payload: Json | None


@dataclass
class Sockets:
    """The links of the bot to the workspace; a door for visitors.

    An event that is not acknowledged within ``ack_seconds`` is sent again, three times at most.
    """

    tickets: Tickets
    ack_seconds: float = 3.0
    link_seconds: float = 60.0
    opened: int = 0
    acks: list[Ack] = field(default_factory=list)
    sent: list[Json] = field(default_factory=list)
    _links: dict[web.WebSocketResponse, web.Request] = field(default_factory=dict)
    _waiting: dict[str, asyncio.Future[Ack | None]] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Take a link that has a ticket, and listen to its acknowledgements."""
        ticket = request.query.get("ticket", "")
        if ticket not in self.tickets.sockets:
            raise web.HTTPForbidden
        self.tickets.sockets.remove(ticket)
        link = web.WebSocketResponse()
        await link.prepare(request)
        if len(self._links) >= MOST_LINKS:
            await link.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            await link.close()
            return link
        await self._greet(link, request)
        try:
            await self._listen(link)
        finally:
            await self._forget(link)
        return link

    async def linked(self, *, opened: int = 1) -> None:
        """Wait until the bot holds a link, and has opened so many in all."""
        async with asyncio.timeout(self.link_seconds), self._changed:
            await self._changed.wait_for(lambda: bool(self._links) and self.opened >= opened)

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask the bot to come again on another link; Slack closes the old one soon after."""
        for link in list(self._links):
            await link.send_json({"type": "disconnect", "reason": reason, "debug_info": {}})
            await link.close()

    def drop(self) -> None:
        """Break every link without a word."""
        for request in self._links.values():
            if request.transport:
                request.transport.abort()

    async def close(self) -> None:
        """End every link."""
        for link in list(self._links):
            await link.close()

    async def event(self, envelope: Json, *, attempt: int = 0) -> Answer:
        """Send an event until it is acknowledged; ``attempt`` is how often it was sent before."""
        began = time.monotonic()
        for number in range(attempt, _TRIES):
            reason = "timeout" if number else ""
            retry = {"retry_attempt": number, "retry_reason": reason}
            ack = await self._try("events_api", {"payload": envelope, **retry}, accepts=False)
            if ack:
                return _answer(ack, began)
        return Answer(0, "", time.monotonic() - began)

    async def interact(self, payload: Json) -> Answer:
        began = time.monotonic()
        return _answer(await self._try("interactive", {"payload": payload}, accepts=True), began)

    async def command(self, form: Mapping[str, str]) -> Answer:
        began = time.monotonic()
        fields: Json = {"payload": dict(form)}
        return _answer(await self._try("slash_commands", fields, accepts=True), began)

    async def _try(self, kind: str, fields: Json, *, accepts: bool) -> Ack | None:
        """Send an envelope on the newest link; return None when nobody acknowledged it."""
        key = f"e{next(self._numbers):06d}"
        frame = {"envelope_id": key, "type": kind, "accepts_response_payload": accepts, **fields}
        await self.linked()
        answered = self._waiting[key] = asyncio.get_running_loop().create_future()
        self.sent.append(frame)
        with suppress(ConnectionError, TimeoutError):
            await list(self._links)[-1].send_json(frame)
            return await asyncio.wait_for(answered, self.ack_seconds)
        return None

    async def _greet(self, link: web.WebSocketResponse, request: web.Request) -> None:
        hello = {
            "type": "hello",
            "num_connections": len(self._links) + 1,
            "connection_info": {"app_id": names.APP},
            "debug_info": {"host": "applink", "approximate_connection_time": 18060},
        }
        await link.send_json(hello)
        async with self._changed:
            self._links[link] = request
            self.opened += 1
            self._changed.notify_all()

    async def _listen(self, link: web.WebSocketResponse) -> None:
        async for message in link:
            if message.type is WSMsgType.TEXT and message.data.startswith("{"):
                self._acknowledged(json.loads(message.data))

    def _acknowledged(self, frame: Json) -> None:
        ack = Ack(str(frame.get("envelope_id")), frame.get("payload"))
        self.acks.append(ack)
        waiting = self._waiting.pop(ack.envelope_id, None)
        if waiting and not waiting.done():
            waiting.set_result(ack)

    async def _forget(self, link: web.WebSocketResponse) -> None:
        async with self._changed:
            del self._links[link]
            self._changed.notify_all()
        if not self._links:
            self._unanswered()

    def _unanswered(self) -> None:
        """Nobody is left who could acknowledge what is under way."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()


def _answer(ack: Ack | None, began: float) -> Answer:
    text = json.dumps(ack.payload) if ack and ack.payload else ""
    return Answer(200 if ack else 0, text, time.monotonic() - began)


EVENTS = (
    "app_home_opened app_mention app_uninstalled agent_session_stopped member_joined_channel "
    "message.channels message.groups message.im message.mpim reaction_added reaction_removed "
    "tokens_revoked"
).split()


@dataclass
class Workspace:
    """The people, rooms, messages and rights of one workspace.

    The bot is a member of ``channels``, which are ``rooms`` seen as a set. ``page_size`` is the
    most that one list returns, whatever is asked for; ``gone`` are questions that their askers
    deleted. ``home_tabs`` are the views published for each person, the last one is
    seen. ``sessions`` are how threads stand, by channel and ts: Stop is shown in some.
    ``titles`` are what they were called first. ``refused_fields`` are refused by name, in
    whatever call they are. ``faults_by_number`` are those of single calls of any method, counted
    as ``calls`` is, from 1.
    ``organisation`` is the one in all of whose workspaces the app is, "" for an app of one.
    ``subscribed`` are the events that the app is sent; ``sparse_mentions`` leaves files out of
    mentions, as Slack was seen to do. ``lost`` is the error that every call gets
    once the app is removed. ``now`` is the clock for all that runs out, in seconds.
    """

    posts: list[Post] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    sessions: dict[tuple[str, str], str] = field(default_factory=dict)
    titles: dict[tuple[str, str], str] = field(default_factory=dict)
    refused_fields: frozenset[str] = frozenset()
    organisation: str = ""
    prompts: list[dict[str, Any]] = field(default_factory=list)
    faults: dict[str, deque[Fault | None]] = field(default_factory=lambda: defaultdict(deque))
    faults_by_number: dict[int, Fault] = field(default_factory=dict)
    people: dict[str, Member] = field(default_factory=everybody)
    rooms: Rooms = field(default_factory=everywhere)
    groups: dict[str, list[str]] = field(default_factory=lambda: {names.ADMINS: [names.ALICE]})
    files: dict[str, StoredFile] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    open_views: list[View] = field(default_factory=list)
    home_tabs: dict[str, list[View]] = field(default_factory=dict)
    page_size: int = 1_000
    block_types: frozenset[str] = BLOCK_TYPES
    scopes: tuple[str, ...] = scopes.INSTALLED
    subscribed: set[str] = field(default_factory=lambda: set(EVENTS))
    app_token: str = names.APP_TOKEN
    strict_rates: bool = False
    sparse_mentions: bool = False
    refused_for_rate: int = 0
    lost: str = ""
    url: str = ""
    now: Callable[[], float] = time.monotonic
    tickets: Tickets = field(init=False)
    sockets: Sockets = field(init=False)
    rates: Rates = field(init=False)
    _unseen: dict[tuple[str, str], Post] = field(default_factory=dict)
    _clock: int = 0
    _events: int = 0

    def __post_init__(self) -> None:
        self.tickets = Tickets(self.time)
        self.sockets = Sockets(self.tickets)
        self.rates = Rates(self.time)

    def time(self) -> float:
        """Return what the clock says, also when a test has set another one."""
        return self.now()

    @property
    def channels(self) -> MutableSet[str]:
        """The rooms that the bot is in; what is added and not known becomes a room."""
        return Joined(self.rooms)

    @channels.setter
    def channels(self, value: Iterable[str]) -> None:
        joined(value, self.rooms)

    @property
    def archived(self) -> MutableSet[str]:
        return Archived(self.rooms)

    @property
    def site(self) -> str:
        """Return the address of the workspace, without the path of its API."""
        return self.url.removesuffix("/api/")

    def fail(self, method: str, *faults: Fault | None) -> None:
        """Say what happens to the next calls of a method; None lets one pass.

        Besides Slack's methods there are "response_url" and "file".
        """
        self.faults[method].extend(faults)

    def uninstall(self, error: str = "account_inactive") -> None:
        """Remove the app; ``token_revoked`` is what a revoked token gets."""
        self.lost = error

    def in_thread(self, channel: str, thread_ts: str) -> list[Post]:
        return [p for p in self.posts if p.channel == channel and p.thread_ts == thread_ts]

    def in_channel(self, channel: str) -> list[Post]:
        return [p for p in self.posts if p.channel == channel]

    def answers(self, channel: str, thread_ts: str | None = None) -> list[Post]:
        """Return what the bot wrote for all to see, in a channel or in one thread of it."""
        wrote = [p for p in self.in_channel(channel) if p.by_bot and not p.only_for]
        return [p for p in wrote if thread_ts is None or p.thread_ts == thread_ts]

    def seen_by(self, user: str, channel: str) -> list[Post]:
        """Return what one person sees in a channel, threads and whispers included."""
        return [p for p in self.in_channel(channel) if p.only_for in {None, user}]

    def whispered(self, user: str) -> list[Post]:
        """Return what only one person was shown, anywhere, the newest last."""
        return [p for p in self.posts if p.only_for == user]

    def say(self, channel: str, thread_ts: str | None, count: int) -> None:
        """Have people write messages, ``count`` of them."""
        for number in range(count):
            self.write(names.BOB, channel, {"text": f"chatter {number}"}, thread_ts)

    def write(
        self, user: str, channel: str, payload: dict[str, Any], thread_ts: str | None = None
    ) -> Post:
        """Put a message into a channel."""
        post = Post(channel, self.next_ts(), thread_ts, payload, user=user)
        self.posts.append(post)
        return post

    def keep(self, file: StoredFile) -> StoredFile:
        """Keep a file, under an id of its own when it has none."""
        key = file.id or f"F{len(self.files) + 1:08d}"
        self.files[key] = replace(file, id=key)
        return self.files[key]

    def post_at(self, channel: str, ts: str) -> Post | None:
        """Return a message that all see, None when there is none."""
        shown = (post for post in self.posts if not post.only_for)
        return next((post for post in shown if (post.channel, post.ts) == (channel, ts)), None)

    def message_at(self, channel: str, ts: str) -> Post | None:
        """Return a message that all see, also one that only an event spoke of.

        Tests that send bare events never wrote the message that these tell of. So what this
        workspace did not number itself is taken to exist until it is in ``gone``.
        """
        post = self.post_at(channel, ts)
        if post or ts in self.gone or self.numbered(ts):
            return post
        unseen = Post(channel, ts, None, {"text": "the question"}, user=names.ALICE)
        return self._unseen.setdefault((channel, ts), unseen)

    def numbered(self, ts: str) -> bool:
        """Tell whether this workspace gave the ts."""
        return ts.startswith(f"{_POSTED_AT}.")

    def next_ts(self) -> str:
        self._clock += 1
        return f"{_POSTED_AT}.{self._clock:06d}"

    def next_event_id(self) -> str:
        self._events += 1
        return f"Ev{self._events:08d}"
