"""Accept messages, their edits and their deletions from Slack's events into the inbox."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from slack_bolt.app.async_app import AsyncApp

from bot.chat.adapters import ChatContext
from bot.chat.listening_policy import ReceivedMessage, should_take
from bot.chat.messages import MessageEdits, MessageWithdrawals, as_new_question
from bot.domain.messages import Message, Person, Thread
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
from bot.platforms.slack.payloads.mrkdwn import unlabelled_ids_in
from bot.platforms.slack.transport.dispatch import EventTasks
from bot.platforms.slack.workspace.bot_identity import BotIdentity
from bot.platforms.slack.workspace.mention_names import MentionNames


class MessageListener:
    """Accepts mentions, direct messages and, where allowed, overheard messages.

    Implements `Listener`.
    """

    def __init__(self, own: BotIdentity, context: ChatContext, names: MentionNames) -> None:
        self._own = own
        self._context = context
        self._names = names
        self.edits = MessageEdits(context)
        self.ongoing = EventTasks()

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_mention")(self._take)
        bolt.event("message")(self._take)

    async def _take(self, body: dict[str, object], event: dict[str, object]) -> None:
        said = self.heard(body, event)
        if said is not None:
            await self.ongoing.take(body, event, lambda: self._keep(body, event, said))

    async def _keep(self, body: Event, event: Event, said: ReceivedMessage) -> None:
        if not await should_take(self._context.listening, said):
            return
        said = await self.named(body, event, said)
        # Where Slack sends mentions only, an edit arrives as an app_mention with the same ts.
        edited = bool(event.get("edited")) and not said.message.overheard
        asked = await as_new_question(self._context, said.message) if edited else said.message
        await self._context.inbox.accept(asked)
        if event.get("edited") or await self._brings_files(said.message):
            at = ts_at(object_at(event, "edited"), "ts") or ts_at(event, "ts")
            await self.edits.amend(asked, at)

    def heard(self, body: Event, event: Event) -> ReceivedMessage | None:
        """Return the message of an event, None if it is not for this company's bot."""
        return self._heard(body, event, {})

    async def named(self, body: Event, event: Event, said: ReceivedMessage) -> ReceivedMessage:
        """Return the message with names in place of ids, as far as they are resolved in time."""
        ids = unlabelled_ids_in(text_at(event, "text")) - self._own.users(body)
        return self._heard(body, event, await self._names.of(ids)) or said if ids else said

    def _heard(self, body: Event, event: Event, names: Mapping[str, str]) -> ReceivedMessage | None:
        return parse_message(
            event,
            tenant=self._context.tenant,
            us=self._own.us(body),
            received_at=datetime.now(UTC),
            names=names,
            reply_to=envelope_reply_to(body),
        )

    async def _brings_files(self, message: Message) -> bool:
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
    is deleted before it is known is stored as withdrawn, so that it is not answered on arrival.
    """

    def __init__(self, own: BotIdentity, context: ChatContext, messages: MessageListener) -> None:
        self._own = own
        self._context = context
        self._messages = messages
        self._withdrawals = MessageWithdrawals(context)

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
            self._said(body, event, "message"),
            self._said(body, event, "previous_message"),
        )
        if now is None or now.by_bot or not _has_new_words(now, before, after):
            return
        await self._messages.ongoing.take(body, event, lambda: self._amend(body, event, now))

    async def _amend(self, body: Event, event: Event, now: ReceivedMessage) -> None:
        now = await self._messages.named(body, _event_of_version(event, "message"), now)
        asked = await as_new_question(self._context, now.message)
        if not asked.overheard:
            await self._context.inbox.accept(asked)
        edited = object_at(object_at(event, "message"), "edited")
        at = ts_at(edited, "ts") or ts_at(event, "event_ts")
        await self._messages.edits.amend(asked, at)

    async def _deleted(self, body: dict[str, object], event: dict[str, object]) -> None:
        before = object_at(event, "previous_message")
        await self._withdraw(body, event, ts_at(event, "deleted_ts") or ts_at(before, "ts"))

    async def _withdraw(self, body: Event, event: Event, ts: str) -> None:
        channel = id_at(event, "channel")
        if not (ts and channel) or is_own_message(
            object_at(event, "previous_message"), self._own.us(body)
        ):
            return
        root = ts_at(object_at(event, "previous_message"), "thread_ts") or ts
        place = _message_at(Thread("slack", self._context.tenant, channel, root), ts)
        before = self._said(body, event, "previous_message")
        await self._messages.ongoing.take(body, event, lambda: self._take_back(place, before))

    async def _take_back(self, place: Message, before: ReceivedMessage | None) -> None:
        if await self._withdrawals.withdraw(place):
            return
        if before and not before.by_bot and not before.message.overheard:
            await self._withdrawals.never_answer(before.message)

    def _said(self, body: Event, event: Event, version: str) -> ReceivedMessage | None:
        """Return one version of a message; its channel is taken from the event."""
        return self._messages.heard(body, _event_of_version(event, version))


def _event_of_version(event: Event, version: str) -> Event:
    where = {key: event.get(key) for key in ("channel", "channel_type")}
    return {**object_at(event, version), **where}


def _has_new_words(now: ReceivedMessage, before: ReceivedMessage | None, after: Event) -> bool:
    """Return whether a person changed the text, rather than Slack what it shows below."""
    if before is None:
        return bool(text_at(object_at(after, "edited"), "user"))
    was, is_now = before.message, now.message
    return (was.text, was.overheard) != (is_now.text, is_now.overheard)


def _message_at(thread: Thread, ts: str) -> Message:
    """Return a message of which only the thread and ts are known."""
    return Message(ts, thread, Person(""), "", datetime.now(UTC))
