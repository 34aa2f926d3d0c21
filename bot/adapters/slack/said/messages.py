"""What people write on Slack, into the inbox."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.home.names import Names
from bot.adapters.slack.home.own import Own
from bot.adapters.slack.said.ongoing import Ongoing
from bot.adapters.slack.wire.events import Event, heard, object_at, text_at, ts_at
from bot.adapters.slack.wire.reply_to import enveloped
from bot.adapters.slack.wire.text import ids_in
from bot.chat.adapters import ChatContext
from bot.chat.messages import MessageEdits, ReceivedMessage, as_new_question, should_take
from bot.domain.types import Message


class Messages:
    """Implements Registers: mentions, direct messages, and what is overheard where allowed."""

    def __init__(self, own: Own, office: ChatContext, names: Names) -> None:
        self._own = own
        self._office = office
        self._names = names
        self.edits = MessageEdits(office)
        self.ongoing = Ongoing()

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_mention")(self._take)
        bolt.event("message")(self._take)

    async def _take(self, body: dict[str, object], event: dict[str, object]) -> None:
        said = self.heard(body, event)
        if said is not None:
            await self.ongoing.take(body, event, lambda: self._keep(body, event, said))

    async def _keep(self, body: Event, event: Event, said: ReceivedMessage) -> None:
        if not await should_take(self._office.hearing, said):
            return
        said = await self.named(body, event, said)
        # Where only mentions are sent, an edit is a mention again, with the same ts.
        edited = bool(event.get("edited")) and not said.message.overheard
        asked = await as_new_question(self._office, said.message) if edited else said.message
        await self._office.inbox.accept(asked)
        if event.get("edited") or await self._brings_files(said.message):
            at = ts_at(object_at(event, "edited"), "ts") or ts_at(event, "ts")
            await self.edits.amend(asked, at)

    def heard(self, body: Event, event: Event) -> ReceivedMessage | None:
        """Return what an event says to this company's bot."""
        return self._heard(body, event, {})

    async def named(self, body: Event, event: Event, said: ReceivedMessage) -> ReceivedMessage:
        """Return what was heard with names in place of ids, as far as Slack tells them soon."""
        ids = ids_in(text_at(event, "text")) - self._own.users(body)
        return self._heard(body, event, await self._names.of(ids)) or said if ids else said

    def _heard(self, body: Event, event: Event, names: Mapping[str, str]) -> ReceivedMessage | None:
        return heard(
            event,
            tenant=self._office.tenant,
            us=self._own.us(body),
            received_at=datetime.now(UTC),
            names=names,
            reply_to=enveloped(body),
        )

    async def _brings_files(self, message: Message) -> bool:
        """Tell whether files come along that the question is kept without.

        Slack leaves them out of some mentions; the channel's copy of the message has them.
        """
        if not message.attachments:
            return False
        kept = await self._office.interactions.get(message.interaction_id)
        return kept is not None and not kept.message.attachments
