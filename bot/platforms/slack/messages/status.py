"""Show that a question is in progress: a status line, or a reaction where there is none."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.chat.response_view import activity_text
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, DeliveryFailed
from bot.domain.messages import Activity, Message
from bot.domain.ports import Notes
from bot.platforms.slack.client.api import PATIENCE_SECONDS, ApiCaller, Clock
from bot.platforms.slack.client.errors import THREAD_ERRORS, NeverPermitted, NotPermitted
from bot.platforms.slack.messages.agent_sessions import AgentSessions
from bot.platforms.slack.payloads.events import response_url_of
from bot.platforms.slack.payloads.metadata import ts_of

_EYES = "eyes"
_TRIES = 3
_REMEMBERED = 2_000
_STATUS_PAUSE_SECONDS = 600.0
_ALREADY_SO_CODES = frozenset({"already_reacted", "no_reaction"})
_LOADING = ("Looking at the pages\u2026", "Still at it\u2026", "Checking what I found\u2026")

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
        client: AsyncWebClient,
        caller: ApiCaller,
        notes: Notes,
        background: BackgroundTasks,
        sessions: AgentSessions,
        clock: Clock = time.monotonic,
    ) -> None:
        self._client = client
        self._caller = caller
        self._notes = notes
        self._background = background
        self._clock = clock
        self._sessions = sessions
        self._shown: OrderedDict[str, _ShownStatus] = OrderedDict()
        self._again_at = 0.0

    async def show(self, message: Message, activity: Activity) -> None:
        """Show an activity, unless it is shown already, or for overheard messages or commands."""
        words = activity_text(activity)
        if not words or message.overheard or response_url_of(message):
            return
        self._sessions.begun(message)
        shown = self._of(message)
        if shown.marked is not None or words == shown.words:
            return
        if await self._line(message, words):
            shown.words = words
        else:
            await self._mark(message, shown)

    def answered(self, message: Message) -> None:
        """Remove the reaction in the background; Slack clears a status line after a reply."""
        shown = self._shown.pop(message.key, None)
        if message.overheard or response_url_of(message):
            return
        self._sessions.ended(message)
        if shown is None or shown.marked:
            self._background.run(self._unmark(message, known=shown is not None), what="unmark")

    async def withdrawn(self, message: Message) -> None:
        """Remove what is shown for a question that ended without a reply."""
        shown = self._shown.pop(message.key, None)
        if shown is not None and shown.words:
            await self._line(message, "")
        if not response_url_of(message):
            self._sessions.ended(message)
            await self._unmark(message, known=shown is not None and bool(shown.marked))

    async def _line(self, message: Message, words: str) -> bool:
        """Set the status line; return False if there is none. A rate-limited one is dropped."""
        if self._clock() < self._again_at:
            return False
        try:
            await self._caller.call(
                "assistant.threads.setStatus",
                lambda: self._client.assistant_threads_setStatus(
                    channel_id=message.thread.channel,
                    thread_ts=message.thread.id,
                    status=words,
                    loading_messages=list(_LOADING) if words else None,
                ),
                patience_seconds=0.0,
            )
        except (NotPermitted, NeverPermitted) as error:
            if error.code not in THREAD_ERRORS:
                self._again_at = self._clock() + _STATUS_PAUSE_SECONDS
            log.info("slack.status_unavailable", error=str(error))
            return False
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
        await self._react("reactions.add", self._client.reactions_add, message, patience=0.0)

    async def _unmark(self, message: Message, *, known: bool) -> None:
        tenant, key = message.thread.tenant, _key(message)
        if not known and await self._noted(self._notes.get(tenant, key)) is None:
            return
        for _ in range(_TRIES):
            # Nothing retries a reaction that is left; removing it twice is the same as once.
            if await self._react("reactions.remove", self._client.reactions_remove, message):
                break
        await self._noted(self._notes.remove(tenant, key))

    async def _react(
        self,
        what: str,
        send: Callable[..., Awaitable[AsyncSlackResponse]],
        message: Message,
        patience: float = PATIENCE_SECONDS,
    ) -> bool:
        """Add or remove the reaction; return whether that is settled: done, or refused."""
        at = {"channel": message.thread.channel, "timestamp": ts_of(message), "name": _EYES}
        try:
            await self._caller.call(what, lambda: send(**at), patience_seconds=patience)
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

    def _of(self, message: Message) -> _ShownStatus:
        shown = self._shown.setdefault(message.key, _ShownStatus())
        self._shown.move_to_end(message.key)
        while len(self._shown) > _REMEMBERED:
            self._shown.popitem(last=False)
        return shown


def _key(message: Message) -> str:
    return f"slack:{_EYES}:{message.thread.channel}:{ts_of(message)}"
