"""Everything that a workspace remembers."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, MutableSet
from dataclasses import dataclass, field, replace
from typing import Any

from tests.bot.adapters.slack.blocks import BLOCK_TYPES
from tests.bot.adapters.slack.exchange import Request
from tests.bot.adapters.slack.workspace import names, scopes
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.files import StoredFile
from tests.bot.adapters.slack.workspace.people import (
    Archived,
    Joined,
    Member,
    Rooms,
    everybody,
    everywhere,
    joined,
)
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.rates import Rates
from tests.bot.adapters.slack.workspace.sockets import Sockets
from tests.bot.adapters.slack.workspace.tickets import Tickets
from tests.bot.adapters.slack.workspace.views import View

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
    deleted. ``sessions`` are how threads stand, by channel and ts: Stop is shown in some.
    ``subscribed`` are the events that the app is sent; ``sparse_mentions`` leaves files out of
    mentions, as Slack was seen to do. ``lost`` is the error that every call gets
    once the app is removed. ``now`` is the clock for all that runs out, in seconds.
    """

    posts: list[Post] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    sessions: dict[tuple[str, str], str] = field(default_factory=dict)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    faults: dict[str, deque[Fault | None]] = field(default_factory=lambda: defaultdict(deque))
    people: dict[str, Member] = field(default_factory=everybody)
    rooms: Rooms = field(default_factory=everywhere)
    groups: dict[str, list[str]] = field(default_factory=lambda: {names.ADMINS: [names.ALICE]})
    files: dict[str, StoredFile] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    open_views: list[View] = field(default_factory=list)
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
        return ts.startswith("1800000000.")

    def next_ts(self) -> str:
        self._clock += 1
        return f"1800000000.{self._clock:06d}"

    def next_event_id(self) -> str:
        self._events += 1
        return f"Ev{self._events:08d}"
