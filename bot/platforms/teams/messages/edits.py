"""Follow what people change of their messages: edits, deletions, and deletions taken back.

A question whose deletion is taken back is asked once more, under another id.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal

from bot.chat.adapters import ChatContext
from bot.chat.commands.parsing import parse_message_text
from bot.chat.commands.types import AskRequest
from bot.chat.messages import MessageEdits, MessageWithdrawals, as_new_question
from bot.domain.messages import Message
from bot.platforms.teams.messages.intake import MessageListener
from bot.platforms.teams.payloads.activity import (
    Body,
    conversation_of,
    is_private,
    person_of,
    sent_at,
    text_at,
)
from bot.platforms.teams.payloads.messages import thread_of
from bot.platforms.teams.payloads.references import reference_of
from bot.platforms.teams.tenant.identity import COMMAND_SPELLING
from bot.platforms.teams.transport.dispatch import Dispatch


@dataclass(frozen=True, slots=True)
class Restoration:
    """The last time that a message was restored, in seconds, and the id it is asked under."""

    at: str
    id: str


class Restorations:
    """Knows under which id a message is asked now.

    A withdrawn question's words are forgotten and its id is not answered again, so that a restored
    one gets another; it begins with the first, and goes with it. Raises StoreUnavailable.
    """

    def __init__(self, office: ChatContext) -> None:
        self._notes = office.notes
        self._interactions = office.interactions
        self._tenant = office.tenant

    async def last(self, message: Message) -> Restoration | None:
        """Return when a message was restored last, None if it never was."""
        noted = await self._notes.get(self._tenant, _restoration_key(message))
        at, _, name = (noted or "").partition(" ")
        return Restoration(at, name) if noted else None

    async def newest(self, message: Message) -> Message:
        """Return a message under the id that it is asked under."""
        last = await self.last(message)
        return replace(message, id=last.id) if last else message

    async def restore(self, message: Message, at: str) -> Message:
        """Return a message as it is asked, after a deletion of it was taken back at a time.

        Doing so again, or for an earlier time, changes nothing.
        """
        last = await self.last(message)
        if last and not is_later(at, last.at):
            return replace(message, id=last.id)
        now = replace(message, id=last.id) if last else message
        kept = await self._interactions.get(now.interaction_id)
        if kept is not None and kept.withdrawn:
            now = replace(message, id=f"{message.id}:restored:{at}")
        await self._notes.put(self._tenant, _restoration_key(message), f"{at} {now.id}")
        return now


def is_later(at: str, than: str) -> bool:
    """Tell whether a time is later; one that is not known is the latest."""
    return not at or not than or Decimal(at) > Decimal(than)


def _restoration_key(message: Message) -> str:
    return f"teams:restored:{message.interaction_id}"


_RESTORE_EVENT = "undeleteMessage"


class EditListener:
    """Implements Listener: messageUpdate and messageDelete.

    Teams sends these in any order with the message itself. So an edited question is accepted as it
    reads now, which does nothing when it is there already, before it is amended; and one that is
    deleted before it is known is not answered when it comes. A deletion that is older than the
    message's last restoration is left.
    """

    def __init__(self, office: ChatContext, messages: MessageListener) -> None:
        self._office = office
        self._messages = messages
        self._edits = MessageEdits(office)
        self._withdrawals = MessageWithdrawals(office)
        self._restorations = Restorations(office)

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("messageUpdate", self._changed)
        dispatch.on_activity("messageDelete", self._deleted)

    async def _changed(self, body: Body) -> bool:
        said = self._messages.heard(body)
        if said is None or said.by_bot:
            return False
        now = await self._as_asked(body, said.message)
        if not now.overheard:
            if await self._became_order(now):
                return True
            await self._messages.accept(now)
        await self._edits.amend(now, sent_at(body))
        return True

    async def _as_asked(self, body: Body, message: Message) -> Message:
        """Return a message under the id that it is answered under."""
        if text_at(body, "channelData", "eventType") == _RESTORE_EVENT:
            await self._messages.deleted.forget(message)
            if not message.overheard:
                return await self._restorations.restore(message, sent_at(body))
        return await as_new_question(self._office, await self._restorations.newest(message))

    async def _became_order(self, message: Message) -> bool:
        """Tell whether an edit made an order of what was no question; that is left undone."""
        order = parse_message_text(message.text, COMMAND_SPELLING)
        if order is None or isinstance(order, AskRequest):
            return False
        return await self._office.interactions.get(message.interaction_id) is None

    async def _deleted(self, body: Body) -> bool:
        message = _message_at(body, self._office.tenant)
        if not (message.id and conversation_of(body)):
            return False
        last = await self._restorations.last(message)
        if last and not is_later(sent_at(body), last.at):
            return True
        asked = replace(message, id=last.id) if last else message
        if not await self._withdrawals.withdraw(asked):
            await self._never_answer(message)
        return True

    async def _never_answer(self, message: Message) -> None:
        if message.private:
            await self._withdrawals.never_answer(message)
            return
        await self._messages.deleted.note(message)
        # It may have come meanwhile, and have looked for the note too early.
        await self._withdrawals.withdraw(message)


def _message_at(body: Body, tenant: str) -> Message:
    """Return a message of which only its place is told."""
    return Message(
        id=text_at(body, "id"),
        thread=thread_of(body, tenant),
        author=person_of(body),
        text="",
        received_at=datetime.now(UTC),
        private=is_private(body),
        reply_to=reference_of(body),
    )
