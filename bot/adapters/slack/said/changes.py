"""What people change of what they wrote: an edited question is amended, a deleted one withdrawn."""

from __future__ import annotations

from datetime import UTC, datetime

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.home.own import Own
from bot.adapters.slack.said.messages import Messages
from bot.adapters.slack.wire.events import Event, id_at, is_ours, object_at, text_at, ts_at
from bot.chat.adapters import ChatContext
from bot.chat.messages import MessageWithdrawals, ReceivedMessage, as_new_question
from bot.domain.types import Message, Person, Thread


class Changes:
    """Implements Registers: message_changed and message_deleted.

    Slack sends these in any order with the message itself. So an edited question is accepted as it
    reads now, which does nothing when it is there already, before it is amended; and one that is
    deleted before it is known is kept as withdrawn, so that it is not answered when it comes.
    """

    def __init__(self, own: Own, office: ChatContext, messages: Messages) -> None:
        self._own = own
        self._office = office
        self._messages = messages
        self._withdrawals = MessageWithdrawals(office)

    def register(self, bolt: AsyncApp) -> None:
        bolt.event({"type": "message", "subtype": "message_changed"})(self._changed)
        bolt.event({"type": "message", "subtype": "message_deleted"})(self._deleted)

    async def _changed(self, body: dict[str, object], event: dict[str, object]) -> None:
        after = object_at(event, "message")
        if after.get("subtype") == "tombstone":
            # A deleted message with replies below it: its place stays, its words are gone.
            await self._withdraw(body, event, ts_at(after, "ts"))
            return
        now, before = (
            self._said(body, event, "message"),
            self._said(body, event, "previous_message"),
        )
        if now is None or now.by_bot or not _differs(now, before, after):
            return
        await self._messages.ongoing.take(body, event, lambda: self._amend(body, event, now))

    async def _amend(self, body: Event, event: Event, now: ReceivedMessage) -> None:
        now = await self._messages.named(body, _version(event, "message"), now)
        asked = await as_new_question(self._office, now.message)
        if not asked.overheard:
            await self._office.inbox.accept(asked)
        edited = object_at(object_at(event, "message"), "edited")
        at = ts_at(edited, "ts") or ts_at(event, "event_ts")
        await self._messages.edits.amend(asked, at)

    async def _deleted(self, body: dict[str, object], event: dict[str, object]) -> None:
        before = object_at(event, "previous_message")
        await self._withdraw(body, event, ts_at(event, "deleted_ts") or ts_at(before, "ts"))

    async def _withdraw(self, body: Event, event: Event, ts: str) -> None:
        channel = id_at(event, "channel")
        if not (ts and channel) or is_ours(
            object_at(event, "previous_message"), self._own.us(body)
        ):
            return
        root = ts_at(object_at(event, "previous_message"), "thread_ts") or ts
        place = _at(Thread("slack", self._office.tenant, channel, root), ts)
        before = self._said(body, event, "previous_message")
        await self._messages.ongoing.take(body, event, lambda: self._take_back(place, before))

    async def _take_back(self, place: Message, before: ReceivedMessage | None) -> None:
        if await self._withdrawals.withdraw(place):
            return
        if before and not before.by_bot and not before.message.overheard:
            await self._withdrawals.never_answer(before.message)

    def _said(self, body: Event, event: Event, version: str) -> ReceivedMessage | None:
        """Return one version of a message; it does not say itself where it is."""
        return self._messages.heard(body, _version(event, version))


def _version(event: Event, version: str) -> Event:
    where = {key: event.get(key) for key in ("channel", "channel_type")}
    return {**object_at(event, version), **where}


def _differs(now: ReceivedMessage, before: ReceivedMessage | None, after: Event) -> bool:
    """Tell whether a person changed the words, and not Slack what is shown below them."""
    if before is None:
        return bool(text_at(object_at(after, "edited"), "user"))
    was, is_now = before.message, now.message
    return (was.text, was.overheard) != (is_now.text, is_now.overheard)


def _at(thread: Thread, ts: str) -> Message:
    """Return a message of which only its place is known."""
    return Message(ts, thread, Person(""), "", datetime.now(UTC))
