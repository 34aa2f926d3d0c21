"""What people change of what they wrote: an edited question is amended, a deleted one withdrawn."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.home.own import Own
from bot.adapters.slack.said.anew import addressed
from bot.adapters.slack.said.messages import ACCEPT_SECONDS, Messages
from bot.adapters.slack.wire.events import Event, Heard, id_at, is_ours, object_at, text_at, ts_at
from bot.errors import InteractionUnknown
from bot.office import Office
from bot.types import Message, Person, Thread

_LOOKED_AT = 100


class Changes:
    """Implements Registers: message_changed and message_deleted.

    Slack sends these in any order with the message itself. So an edited question is accepted as it
    reads now, which does nothing when it is there already, before it is amended; and one that is
    deleted before it is known is kept as withdrawn, so that it is not answered when it comes.
    """

    def __init__(self, own: Own, office: Office, messages: Messages) -> None:
        self._own = own
        self._office = office
        self._messages = messages

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
        async with asyncio.timeout(ACCEPT_SECONDS):
            if not now.message.overheard:
                asked = await addressed(self._office, now.message)
                await self._office.inbox.accept(asked)
            at = ts_at(object_at(after, "edited"), "ts") or ts_at(event, "event_ts")
            await self._messages.edits.amend(now.message, at)

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
        thread = Thread("slack", self._office.tenant, channel, root)
        async with asyncio.timeout(ACCEPT_SECONDS):
            try:
                await self._office.inbox.cancel(_at(thread, ts).interaction_id)
            except InteractionUnknown:
                await self._never_answer(self._said(body, event, "previous_message"))
            else:
                await self._withdraw_below(thread, ts)

    async def _withdraw_below(self, thread: Thread, ts: str) -> None:
        """Withdraw what was asked by buttons below a question; it quotes the question."""
        for each in await self._office.interactions.in_thread(thread, _LOOKED_AT):
            if each.message.id.startswith(f"{ts}:"):
                with suppress(InteractionUnknown):
                    await self._office.inbox.cancel(each.id)

    async def _never_answer(self, before: Heard | None) -> None:
        if before is None or before.by_bot or before.message.overheard:
            return
        with suppress(InteractionUnknown):
            await self._office.inbox.cancel(await self._office.inbox.accept(before.message))

    def _said(self, body: Event, event: Event, version: str) -> Heard | None:
        """Return one version of a message; it does not say itself where it is."""
        where = {key: event.get(key) for key in ("channel", "channel_type")}
        return self._messages.heard(body, {**object_at(event, version), **where})


def _differs(now: Heard, before: Heard | None, after: Event) -> bool:
    """Tell whether a person changed the words, and not Slack what is shown below them."""
    if before is None:
        return bool(text_at(object_at(after, "edited"), "user"))
    was, is_now = before.message, now.message
    return (was.text, was.overheard) != (is_now.text, is_now.overheard)


def _at(thread: Thread, ts: str) -> Message:
    """Return a message of which only its place is known."""
    return Message(ts, thread, Person(""), "", datetime.now(UTC))
