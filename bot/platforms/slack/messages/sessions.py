"""Report agent sessions to Slack: what each is called, who began it, and whether it is at work."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

import structlog

from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import DeliveryFailed, RateLimited
from bot.domain.messages import Message, Thread
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import (
    NO_USER,
    THREAD_ERRORS,
    NeverPermitted,
    NotPermitted,
)
from bot.platforms.slack.client.rate_limits import PATIENCE_SECONDS
from bot.platforms.slack.payloads.events import came_by_shortcut
from bot.platforms.slack.rendering import inert_line
from rag.types import BoundedDict

_REMEMBERED = 2_000
_PAUSE_SECONDS = 600.0
"""How long a feature is not tried again that the workspace lacks."""

_TITLE_LENGTH = 60
_DETAIL_ERRORS = NO_USER | {"invalid_arguments", "invalid_arg_name", "invalid_title"}
"""Codes by which Slack refuses a title or an initiator, rather than the session."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """What a session is called, and who began it; "" is left to Slack."""

    title: str = ""
    initiator: str = ""

    def arguments(self) -> dict[str, str]:
        """Return the details as arguments of Slack's method."""
        given = {"title": self.title, "initiator_user_id": self.initiator}
        return {name: value for name, value in given.items() if value}


NO_DETAILS = SessionDetails()


def session_details(message: Message) -> SessionDetails:
    """Return the details of the session that a question is asked in.

    Only the question that opened a thread gives its title: whoever finds the session reads it. What
    a shortcut points at are another person's words.
    """
    opened = message.id == message.thread.id and not came_by_shortcut(message)
    title = inert_line(message.text, _TITLE_LENGTH) if opened else ""
    return SessionDetails(title, message.author.id)


class OptionalFeature:
    """A feature that a workspace may lack; ``event`` is logged when it does."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._again_at = 0.0

    async def use(self, call: Callable[[], Awaitable[None]]) -> bool:
        """Make a call; return False if the workspace or the thread lacks the feature.

        Raises DeliveryFailed for other errors.
        """
        if time.monotonic() < self._again_at:
            return False
        try:
            await call()
        except (NotPermitted, NeverPermitted) as error:
            if error.code not in THREAD_ERRORS:
                self._again_at = time.monotonic() + _PAUSE_SECONDS
            log.info(self._event, error=str(error))
            return False
        return True


@dataclass(slots=True)
class _Session:
    """The questions in progress in a thread, and the status sent to Slack; None: unknown."""

    in_progress: set[str] = field(default_factory=set)
    sent: Literal["processing", "active"] | None = None
    sending: bool = False
    details: SessionDetails = NO_DETAILS

    @property
    def state(self) -> Literal["processing", "active"]:
        return "processing" if self.in_progress else "active"


class AgentSessions:
    """Reports the status of agent sessions to Slack; updates may be lost, nothing waits for them.

    A thread is processing while one of its questions is in progress. A thread in which another
    process may have worked is reported as active. If the workspace has no agent sessions, that is
    remembered for ten minutes.
    """

    def __init__(self, client: SlackClient, background: BackgroundTasks) -> None:
        self._client = client
        self._background = background
        self._sessions = BoundedDict[Thread, _Session](_REMEMBERED)
        self._feature = OptionalFeature("slack.session_unavailable")
        self._details_refused = False

    def begun(self, message: Message) -> None:
        """Record that a question is in progress."""
        session = self._session(message.thread)
        session.in_progress.add(message.key)
        session.details = session_details(message)
        self._update(message.thread)

    def ended(self, message: Message) -> None:
        """Record that a question is no longer in progress."""
        self._session(message.thread).in_progress.discard(message.key)
        self._update(message.thread)

    def stopped(self, thread: Thread) -> None:
        """Record a press of Stop, perhaps in a thread with no question in progress any more."""
        session = self._session(thread)
        if not session.in_progress:
            session.sent = None
            self._update(thread)

    def _update(self, thread: Thread) -> None:
        session = self._session(thread)
        if not session.sending and session.state != session.sent:
            session.sending = True
            self._background.run(self._send_updates(thread, session), what="agent session")

    async def _send_updates(self, thread: Thread, session: _Session) -> None:
        try:
            while session.state != session.sent:
                session.sent = session.state
                if not await self._set_status(thread, session.state, session.details):
                    session.sent = "active"
                    return
        finally:
            session.sending = False

    async def _set_status(self, thread: Thread, state: str, details: SessionDetails) -> bool:
        """Send a status; return False if there are no sessions or the rate limit is reached."""
        beginning = state == "processing"
        patience = 0.0 if beginning else PATIENCE_SECONDS
        sent = details if beginning and not self._details_refused else NO_DETAILS
        try:
            return await self._feature.use(lambda: self._send(thread, state, sent, patience))
        except DeliveryFailed as error:
            log.info("slack.session_left_out", error=str(error))
            return not isinstance(error, RateLimited)

    async def _send(
        self, thread: Thread, state: str, details: SessionDetails, patience: float
    ) -> None:
        """Send a status; without the details, from then on, if Slack refuses those."""
        send = self._client.agents_sessions_set_status
        try:
            await send(thread, state, patience_seconds=patience, **details.arguments())
        except (NotPermitted, NeverPermitted) as error:
            if details == NO_DETAILS or error.code not in _DETAIL_ERRORS:
                raise
            log.info("slack.session_details_refused", error=str(error))
            self._details_refused = error.code not in NO_USER
            await send(thread, state, patience_seconds=patience)

    def _session(self, thread: Thread) -> _Session:
        session = self._sessions[thread] = self._sessions.get(thread) or _Session()
        return session
