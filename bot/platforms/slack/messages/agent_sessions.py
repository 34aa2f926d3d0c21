"""Keep Slack's agent sessions up to date, and cancel a question when its asker presses Stop."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.adapters import ChatContext
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import DeliveryFailed, InteractionUnknown
from bot.domain.interactions import Interaction
from bot.domain.messages import Message, Thread
from bot.platforms.slack.client.api import PATIENCE_SECONDS, ApiCaller, Clock
from bot.platforms.slack.client.errors import (
    THREAD_ERRORS,
    NeverPermitted,
    NotPermitted,
    RateLimited,
)
from bot.platforms.slack.payloads.events import id_at, ts_at
from bot.platforms.slack.transport.dispatch import ACCEPT_SECONDS

_REMEMBERED = 2_000
_PAUSE_SECONDS = 600.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Session:
    """The questions in progress in a thread, and the status sent to Slack; None: unknown."""

    at_work: set[str] = field(default_factory=set)
    told: Literal["processing", "active"] | None = None
    telling: bool = False

    @property
    def state(self) -> Literal["processing", "active"]:
        return "processing" if self.at_work else "active"


class AgentSessions:
    """Reports the status of agent sessions to Slack; updates may be lost, nothing waits for them.

    A thread is processing while one of its questions is in progress. A thread in which another
    process may have worked is reported as active. If the workspace has no agent sessions, that is
    remembered for ten minutes.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        caller: ApiCaller,
        background: BackgroundTasks,
        clock: Clock = time.monotonic,
    ) -> None:
        self._client = client
        self._caller = caller
        self._background = background
        self._clock = clock
        self._sessions: OrderedDict[Thread, _Session] = OrderedDict()
        self._again_at = 0.0

    def begun(self, message: Message) -> None:
        """Record that a question is in progress."""
        self._of(message.thread).at_work.add(message.key)
        self._tell(message.thread)

    def ended(self, message: Message) -> None:
        """Record that a question is no longer in progress."""
        self._of(message.thread).at_work.discard(message.key)
        self._tell(message.thread)

    def stopped(self, thread: Thread) -> None:
        """Record a press of Stop, perhaps in a thread with no question in progress any more."""
        session = self._of(thread)
        if not session.at_work:
            session.told = None
            self._tell(thread)

    def _tell(self, thread: Thread) -> None:
        session = self._of(thread)
        if not session.telling and session.state != session.told:
            session.telling = True
            self._background.run(self._told(thread, session), what="agent session")

    async def _told(self, thread: Thread, session: _Session) -> None:
        try:
            while session.state != session.told:
                session.told = session.state
                if not await self._set(thread, session.state):
                    session.told = "active"
                    return
        finally:
            session.telling = False

    async def _set(self, thread: Thread, state: str) -> bool:
        """Send a status; return False if there are no sessions or the rate limit is reached."""
        if self._clock() < self._again_at:
            return False
        begins = state == "processing"
        try:
            await self._caller.call(
                "agents.sessions.setStatus",
                lambda: self._client.agents_sessions_setStatus(
                    channel_id=thread.channel, thread_ts=thread.id, status=state
                ),
                patience_seconds=0.0 if begins else PATIENCE_SECONDS,
            )
        except (NotPermitted, NeverPermitted) as error:
            if error.code not in THREAD_ERRORS:
                self._again_at = self._clock() + _PAUSE_SECONDS
            log.info("slack.session_unavailable", error=str(error))
            return False
        except DeliveryFailed as error:
            log.info("slack.session_left_out", error=str(error))
            return not isinstance(error, RateLimited)
        return True

    def _of(self, thread: Thread) -> _Session:
        session = self._sessions.setdefault(thread, _Session())
        self._sessions.move_to_end(thread)
        while len(self._sessions) > _REMEMBERED:
            self._sessions.popitem(last=False)
        return session


_MOST_LOOKED_AT = 20


class StopEvents:
    """Handles agent_session_stopped. Implements `Listener`.

    The question is withdrawn as if its asker had deleted it: nothing is posted, and the record
    keeps that it was cancelled, but not its text.
    """

    def __init__(self, context: ChatContext, sessions: AgentSessions) -> None:
        self._context = context
        self._sessions = sessions

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("agent_session_stopped")(self._stopped)

    async def _stopped(self, event: dict[str, object]) -> None:
        channel, thread_ts = id_at(event, "channel"), ts_at(event, "thread_ts")
        user = id_at(event, "user")
        if not (channel and thread_ts and user):
            return
        thread = Thread("slack", self._context.tenant, channel, thread_ts)
        self._sessions.stopped(thread)
        async with asyncio.timeout(ACCEPT_SECONDS):
            for each in reversed(
                await self._context.interactions.in_thread(thread, _MOST_LOOKED_AT)
            ):
                if each.message.author.id == user and _is_open(each):
                    with suppress(InteractionUnknown):
                        await self._context.inbox.cancel(each.id)
                    return


def _is_open(interaction: Interaction) -> bool:
    """Return whether an interaction's asker still waits for a reply."""
    waits = interaction.status in {"working", "done"}
    silent = interaction.outcome is not None and interaction.outcome.silent
    return waits and interaction.posted is None and not silent
