"""Show that a question is in progress, and order the replies of a channel.

Progress is a status line, else a reaction, and an agent session (sessions.py). Replies in a channel
are posted in the order in which their questions were asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import structlog

from bot.chat.response_view import activity_text
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, DeliveryFailed
from bot.domain.messages import Activity, Message
from bot.domain.ports import Notes
from bot.domain.texts import tr
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import NeverPermitted, NotPermitted
from bot.platforms.slack.messages.sessions import AgentSessions, OptionalFeature
from bot.platforms.slack.payloads.events import is_command
from bot.platforms.slack.payloads.metadata import ts_of
from rag.types import BoundedDict

_EYES = "eyes"
_TRIES = 3
_REMEMBERED = 2_000
_ALREADY_SO_CODES = frozenset({"already_reacted", "no_reaction"})
_LOADING = (
    tr("Looking at the pages \u2026"),
    tr("Still working on it \u2026"),
    tr("Checking what I found \u2026"),
)

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _ShownStatus:
    """A question's status line, and whether it has the reaction; None: not tried yet."""

    words: str = ""
    marked: bool | None = None


class ProgressStatus:
    """Shows that a question is in progress; updates may be lost, and nothing waits for them.

    If the workspace has no status lines, that is remembered for ten minutes. A note records a
    reaction, so that another process can remove it.
    """

    def __init__(
        self,
        client: SlackClient,
        notes: Notes,
        background: BackgroundTasks,
        sessions: AgentSessions,
    ) -> None:
        self._client = client
        self._notes = notes
        self._background = background
        self._sessions = sessions
        self._shown = BoundedDict[str, _ShownStatus](_REMEMBERED)
        self._feature = OptionalFeature("slack.status_unavailable")

    async def show(self, message: Message, activity: Activity) -> None:
        """Show an activity, unless it is shown already, or for overheard messages or commands."""
        words = activity_text(activity)
        if not words or message.overheard or is_command(message):
            return
        self._sessions.begun(message)
        shown = self._shown[message.key] = self._shown.get(message.key) or _ShownStatus()
        if shown.marked is not None or words == shown.words:
            return
        if await self._line(message, words):
            shown.words = words
        else:
            await self._mark(message, shown)

    def answered(self, message: Message) -> None:
        """Remove the reaction in the background; Slack clears a status line after a reply."""
        shown = self._shown.pop(message.key, None)
        if message.overheard or is_command(message):
            return
        self._sessions.ended(message)
        if shown is None or shown.marked:
            self._background.run(self._unmark(message, known=shown is not None), what="unmark")

    async def remove(self, message: Message) -> None:
        """Remove what is shown for a question that ended without a reply."""
        shown = self._shown.pop(message.key, None)
        if shown is not None and shown.words:
            await self._line(message, "")
        if not is_command(message):
            self._sessions.ended(message)
            await self._unmark(message, known=shown is not None and bool(shown.marked))

    async def _line(self, message: Message, words: str) -> bool:
        """Set the status line; return False if there is none. A rate-limited one is dropped."""
        try:
            return await self._feature.use(
                lambda: self._client.assistant_threads_set_status(
                    message.thread, words, _LOADING if words else ()
                )
            )
        except DeliveryFailed as error:
            log.info("slack.status_left_out", error=str(error))
            return True

    async def _mark(self, message: Message, shown: _ShownStatus) -> None:
        shown.marked = True
        await self._noted(
            self._notes.put(
                message.thread.tenant, _key(message), "", interaction_id=message.interaction_id
            )
        )
        channel, ts = message.thread.channel, ts_of(message)
        await self._is_settled(self._client.reactions_add(channel, ts, _EYES, patience_seconds=0.0))

    async def _unmark(self, message: Message, *, known: bool) -> None:
        tenant, key = message.thread.tenant, _key(message)
        if not known and await self._noted(self._notes.get(tenant, key)) is None:
            return
        channel, ts = message.thread.channel, ts_of(message)
        for _ in range(_TRIES):
            # Nothing retries a reaction that is left; removing it twice is the same as once.
            if await self._is_settled(self._client.reactions_remove(channel, ts, _EYES)):
                break
        await self._noted(self._notes.remove(tenant, key))

    async def _is_settled(self, reacting: Awaitable[None]) -> bool:
        """Add or remove the reaction; return whether that is settled: done, or refused."""
        try:
            await reacting
        except (NotPermitted, NeverPermitted) as error:
            if error.code not in _ALREADY_SO_CODES:
                log.info("slack.mark_refused", error=str(error))
        except DeliveryFailed as error:
            log.info("slack.mark_left_out", error=str(error))
            return False
        return True

    async def _noted(self, note: Awaitable[str | None]) -> str | None:
        try:
            return await note
        except BotError as error:
            log.warning("slack.mark_not_noted", error=str(error))
            return None


def _key(message: Message) -> str:
    return f"slack:{_EYES}:{message.thread.channel}:{ts_of(message)}"


ORDER_PATIENCE_SECONDS = 2.0
"""How long a finished reply waits for replies to earlier questions that are in progress."""

_MOST_QUEUES = 1_000

WaitForChannel = Callable[[str], Awaitable[None]]
"""Waits until a channel's rate limit admits a message."""

QuestionOrder = tuple[tuple[int, ...], str]


@dataclass(slots=True)
class _Queue:
    """The questions of one channel: in progress, and those whose reply is ready."""

    working: set[QuestionOrder] = field(default_factory=set)
    waiting: set[QuestionOrder] = field(default_factory=set)
    first: QuestionOrder | None = None
    held: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def follows_unfinished(self, order: QuestionOrder) -> bool:
        """Return whether an earlier question is still in progress."""
        return any(earlier < order for earlier in self.working)

    def is_next(self, order: QuestionOrder) -> bool:
        return not self.held and order == self.first

    def wake(self) -> None:
        """Update the first waiting question, and let all waiters check again."""
        self.first = min(self.waiting, default=None)
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        while not condition():
            await self._changed.wait()


class ReplyOrder:
    """Orders replies within this process. Implements bot.domain.ports.TakesTurns.

    An earlier question that is not ready after ``patience_seconds`` is not waited for again, so
    that one that never ends delays others only once.
    """

    def __init__(
        self, until_allowed: WaitForChannel, patience_seconds: float = ORDER_PATIENCE_SECONDS
    ) -> None:
        self._until_allowed = until_allowed
        self._patience = patience_seconds
        self._queues: dict[str, _Queue] = {}

    def begun(self, message: Message) -> None:
        """Record that a question is in progress."""
        queue, order = self._queue(message), _order(message)
        if order not in queue.waiting:
            queue.working.add(order)

    def ended(self, message: Message) -> None:
        """Record that a question gets no reply."""
        queue = self._queue(message)
        queue.working.discard(_order(message))
        queue.wake()

    @asynccontextmanager
    async def turn(self, message: Message) -> AsyncIterator[None]:
        """Hold the channel's turn, once it admits a message and no earlier reply is ready."""
        queue, order = self._queue(message), _order(message)
        queue.working.discard(order)
        queue.waiting.add(order)
        queue.wake()
        try:
            await self._earlier(queue, order)
            await self._next(queue, order, message.thread.channel)
        finally:
            queue.waiting.discard(order)
            queue.wake()
        try:
            yield
        finally:
            queue.held = False
            queue.wake()

    async def _earlier(self, queue: _Queue, order: QuestionOrder) -> None:
        """Wait for earlier questions, for the patience at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await queue.until(lambda: not queue.follows_unfinished(order))
        queue.working -= {earlier for earlier in queue.working if earlier < order}

    async def _next(self, queue: _Queue, order: QuestionOrder, channel: str) -> None:
        """Take the turn; while the channel is rate-limited, an earlier reply may become ready."""
        while True:
            await queue.until(lambda: queue.is_next(order))
            await self._until_allowed(channel)
            if queue.is_next(order):
                queue.held = True
                return

    def _queue(self, message: Message) -> _Queue:
        """Return the queue of a channel; drop the one used longest ago in which no reply waits."""
        channel = message.thread.channel
        known = self._queues.pop(channel, None)
        queue = self._queues[channel] = known or _Queue()
        if len(self._queues) > _MOST_QUEUES:
            idle = (name for name, each in self._queues.items() if not (each.waiting or each.held))
            self._queues.pop(next(idle, ""), None)
        return queue


def _order(message: Message) -> QuestionOrder:
    return tuple(int(part) for part in ts_of(message).split(".")), message.id
