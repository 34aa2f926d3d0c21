"""Accept messages, their edits, deletions and presses of Stop from Slack's events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from slack_bolt.app.async_app import AsyncApp

from bot.chat.adapters import ChatContext
from bot.chat.messages import (
    MessageEdits,
    MessageWithdrawals,
    ReceivedMessage,
    as_new_question,
    is_said_in_thread,
    is_told_of_practice,
    practice_notice,
    should_take,
    stop_notice,
)
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Delivery, Interaction
from bot.domain.messages import Message, Person, Thread
from bot.platforms.slack.bot_identity import BotIdentity
from bot.platforms.slack.dispatch import ACCEPT_SECONDS
from bot.platforms.slack.members import MentionNames
from bot.platforms.slack.messages.sessions import AgentSessions
from bot.platforms.slack.payloads.events import (
    Event,
    envelope_reply_to,
    id_at,
    is_own_message,
    object_at,
    parse_message,
    text_at,
    ts_at,
)
from bot.platforms.slack.payloads.markup import unlabelled_ids_in
from bot.platforms.slack.thread_replies import SlackThreadReplies

_MOST_LATE = 1_000
"""Finished late events to remember; Slack retries an event for some minutes."""

_EventKey = tuple[str, ...]


class EventTasks:
    """Runs the work on each event once: a retry by Slack joins it instead of starting anew.

    On a server under load an edit or a deletion takes several turns at the record, each of which
    may be waited for. Work cancelled at Slack's timeout would never be done, however often the
    event is sent, and would waste every turn that it had. A retry of an event whose work is done by
    then is acknowledged at once.
    """

    def __init__(self) -> None:
        self._tasks: dict[_EventKey, asyncio.Task[None]] = {}
        self._late: deque[_EventKey] = deque(maxlen=_MOST_LATE)

    async def run(
        self, body: Event, event: Event, work: Callable[[], Coroutine[None, None, None]]
    ) -> None:
        """Run the work on an event, or wait for the task that is running it already.

        Raises TimeoutError after ACCEPT_SECONDS, while the work goes on.
        """
        key = (
            text_at(body, "event_id"),
            text_at(event, "type"),
            text_at(event, "channel"),
            text_at(event, "subtype"),
            ts_at(event, "ts"),
            ts_at(event, "event_ts"),
        )
        if key in self._late:
            return
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
            task.add_done_callback(lambda done: self._ended(key, done))
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await asyncio.shield(task)
        except TimeoutError:
            task.add_done_callback(lambda done: self._ended_late(key, done))
            raise

    def _ended(self, key: _EventKey, task: asyncio.Task[None]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # Marks it as retrieved: perhaps nobody awaits the task any more.

    def _ended_late(self, key: _EventKey, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is None and key not in self._late:
            self._late.append(key)


class MessageListener:
    """Accepts mentions, direct messages and, where allowed, overheard messages.

    Implements `Listener`.
    """

    def __init__(
        self,
        identity: BotIdentity,
        context: ChatContext,
        names: MentionNames,
        replies: SlackThreadReplies,
        tell_alone: Callable[[Delivery], None],
    ) -> None:
        self._identity = identity
        self._context = context
        self._names = names
        self.replies = replies
        self._tell_alone = tell_alone
        self.edits = MessageEdits(context.inbox, context.interactions, context.notes)
        self.ongoing = EventTasks()

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_mention")(self._on_message)
        bolt.event("message")(self._on_message)

    async def _on_message(self, body: dict[str, object], event: dict[str, object]) -> None:
        received = self.parsed(body, event)
        if received is not None:
            await self.ongoing.run(body, event, lambda: self._accept(body, event, received))

    async def _accept(self, body: Event, event: Event, received: ReceivedMessage) -> None:
        if is_said_in_thread(received):
            received = await self.named(body, event, received)
            if await self.replies.take(received.message):
                return
        if not await should_take(self._context.listening, received):
            return
        received = await self.named(body, event, received)
        # Where Slack sends mentions only, an edit arrives as an app_mention with the same ts.
        edited = bool(event.get("edited")) and not received.message.overheard
        question = (
            await as_new_question(self._context.interactions, received.message)
            if edited
            else received.message
        )
        await self.accept(question)
        if event.get("edited") or await self._has_new_files(received.message):
            at = ts_at(object_at(event, "edited"), "ts") or ts_at(event, "ts")
            await self.edits.amend(question, at)

    async def accept(self, question: Message) -> None:
        """Accept a question; where the bot only practises, its asker is told so once."""
        question = await self._context.listening.marked(question)
        await self._context.inbox.accept(question)
        if await is_told_of_practice(self._context.notes, question):
            self._tell_alone(practice_notice(question))

    def parsed(
        self, body: Event, event: Event, names: Mapping[str, str] | None = None
    ) -> ReceivedMessage | None:
        """Return the message of an event, None if it is not for this company's bot."""
        return parse_message(
            event,
            tenant=self._context.tenant,
            us=self._identity.ids(body),
            received_at=datetime.now(UTC),
            names=names,
            reply_to=envelope_reply_to(body),
        )

    async def named(self, body: Event, event: Event, received: ReceivedMessage) -> ReceivedMessage:
        """Return the message with names in place of ids, as far as they are resolved in time."""
        ids = unlabelled_ids_in(text_at(event, "text")) - self._identity.users(body)
        return (
            self.parsed(body, event, await self._names.resolve(ids)) or received
            if ids
            else received
        )

    async def _has_new_files(self, message: Message) -> bool:
        """Return whether an event has files that the stored question lacks.

        Slack leaves them out of some mentions; the channel's copy of the message has them.
        """
        if not message.attachments:
            return False
        kept = await self._context.interactions.get(message.interaction_id)
        return kept is not None and not kept.message.attachments


class EditListener:
    """Handles message_changed and message_deleted. Implements `Listener`.

    Slack sends these in any order with the message itself. So an edited question is first accepted
    with its present text, which has no effect if it is stored already, and then amended; one that
    is deleted before it is known is stored as withdrawn, so that it is not answered on arrival. Of
    what does not address the bot this holds for a minute: later it is known, or was not for us.
    """

    def __init__(
        self, identity: BotIdentity, context: ChatContext, messages: MessageListener
    ) -> None:
        self._identity = identity
        self._context = context
        self._messages = messages
        self._withdrawals = MessageWithdrawals(context.inbox, context.interactions)

    def register(self, bolt: AsyncApp) -> None:
        bolt.event({"type": "message", "subtype": "message_changed"})(self._changed)
        bolt.event({"type": "message", "subtype": "message_deleted"})(self._deleted)

    async def _changed(self, body: dict[str, object], event: dict[str, object]) -> None:
        after = object_at(event, "message")
        if after.get("subtype") == "tombstone":
            # A deleted message with replies below it: Slack keeps its place without the text.
            await self._withdraw(body, event, ts_at(after, "ts"))
            return
        now, before = (
            self._version(body, event, "message"),
            self._version(body, event, "previous_message"),
        )
        if now is None or now.by_bot or not _has_new_words(now, before, after):
            return
        await self._messages.ongoing.run(body, event, lambda: self._amend(body, event, now, before))

    async def _amend(
        self, body: Event, event: Event, now: ReceivedMessage, before: ReceivedMessage | None
    ) -> None:
        now = await self._messages.named(body, _event_of_version(event, "message"), now)
        edited = object_at(object_at(event, "message"), "edited")
        at = ts_at(edited, "ts") or ts_at(event, "event_ts")
        if is_said_in_thread(now) and await self._messages.replies.edit(now.message, at):
            return
        question = await as_new_question(self._context.interactions, now.message)
        if not question.overheard or await self._is_ahead(event, before):
            await self._messages.accept(question)
        await self._messages.edits.amend(question, at)

    async def _deleted(self, body: dict[str, object], event: dict[str, object]) -> None:
        before = object_at(event, "previous_message")
        await self._withdraw(body, event, ts_at(event, "deleted_ts") or ts_at(before, "ts"))

    async def _withdraw(self, body: Event, event: Event, ts: str) -> None:
        channel = id_at(event, "channel")
        if not (ts and channel) or is_own_message(
            object_at(event, "previous_message"), self._identity.ids(body)
        ):
            return
        root = ts_at(object_at(event, "previous_message"), "thread_ts") or ts
        place = _message_at(Thread("slack", self._context.tenant, channel, root), ts)
        before = self._version(body, event, "previous_message")
        await self._messages.ongoing.run(
            body, event, lambda: self._withdraw_or_ignore(event, place, before)
        )

    async def _withdraw_or_ignore(
        self, event: Event, place: Message, before: ReceivedMessage | None
    ) -> None:
        if await self._messages.replies.delete(place.thread, place.id):
            return
        if await self._withdrawals.withdraw(place):
            return
        if before is None or before.by_bot:
            return
        if not before.message.overheard or await self._is_ahead(event, before):
            await self._withdrawals.never_answer(before.message)

    async def _is_ahead(self, event: Event, before: ReceivedMessage | None) -> bool:
        """Return whether a change may have come before an unaddressed message that we would take.

        That one is unknown, and so young that it may still be on its way.
        """
        if before is None or not _is_young(event, before.message.id):
            return False
        kept = await self._context.interactions.get(before.message.interaction_id)
        return kept is None and await should_take(self._context.listening, before)

    def _version(self, body: Event, event: Event, version: str) -> ReceivedMessage | None:
        """Return one version of a message; its channel is taken from the event."""
        return self._messages.parsed(body, _event_of_version(event, version))


def _event_of_version(event: Event, version: str) -> Event:
    where = {key: event.get(key) for key in ("channel", "channel_type")}
    return {**object_at(event, version), **where}


def _has_new_words(now: ReceivedMessage, before: ReceivedMessage | None, after: Event) -> bool:
    """Return whether a person changed the text, rather than Slack what it shows below."""
    if before is None:
        return bool(text_at(object_at(after, "edited"), "user"))
    was, is_now = before.message, now.message
    return (was.text, was.overheard) != (is_now.text, is_now.overheard)


_ON_ITS_WAY_SECONDS = 60.0
"""How long after a message its own event may still come; then its changes are about an old one."""


def _is_young(event: Event, ts: str) -> bool:
    changed = ts_at(event, "event_ts") or ts_at(event, "ts")
    return bool(changed and ts) and float(changed) - float(ts) <= _ON_ITS_WAY_SECONDS


def _message_at(thread: Thread, ts: str) -> Message:
    """Return a message of which only the thread and ts are known."""
    return Message(ts, thread, Person(""), "", datetime.now(UTC))


_MOST_IN_THREAD = 20


class StopEvents:
    """Handles agent_session_stopped. Implements `Listener`.

    The question is withdrawn as if its asker had deleted it: the record keeps that it was
    cancelled, but not its text. Its asker alone is told so; a crash in between loses that line.
    """

    def __init__(
        self,
        context: ChatContext,
        sessions: AgentSessions,
        tell_alone: Callable[[Delivery], None],
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._tell_alone = tell_alone

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
            recent = await self._context.interactions.in_thread(thread, _MOST_IN_THREAD)
            own = (each for each in reversed(recent) if each.message.author.id == user)
            stopped = next(filter(_is_open, own), None)
            if stopped is not None:
                with suppress(InteractionUnknown):
                    await self._context.inbox.cancel(stopped.id)
                    # Not awaited: a repeated event would stop an earlier question, too.
                    self._tell_alone(stop_notice(stopped.message))


def _is_open(interaction: Interaction) -> bool:
    """Return whether an interaction's asker still waits for a reply."""
    waits = interaction.status in {"working", "done"}
    silent = interaction.outcome is not None and interaction.outcome.silent
    return waits and interaction.posted is None and not silent
