"""Apply edits and deletions of people's messages, and the undoing of a deletion.

A question whose deletion is undone is asked again under another id.
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
    """The time of a message's last restoration in seconds, and the id it was then asked under."""

    at: str
    id: str


class Restorations:
    """Stores the id under which a restored message is asked.

    A withdrawn question's text is erased and its id is never answered again, so a restored message
    gets a new id. The new id starts with the first one, and is deleted with it. Raises
    StoreUnavailable.
    """

    def __init__(self, context: ChatContext) -> None:
        self._notes = context.notes
        self._interactions = context.interactions
        self._tenant = context.tenant

    async def last(self, message: Message) -> Restoration | None:
        """Return the last restoration of a message, or None."""
        noted = await self._notes.get(self._tenant, _restoration_key(message))
        at, _, name = (noted or "").partition(" ")
        return Restoration(at, name) if noted else None

    async def newest(self, message: Message) -> Message:
        """Return a message with the id under which it is asked now."""
        last = await self.last(message)
        return replace(message, id=last.id) if last else message

    async def restore(self, message: Message, at: str) -> Message:
        """Store that a deletion was undone at a time; return the message with its new id.

        Idempotent; an earlier time changes nothing.
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
    """Return whether a time is later than another; an unknown time counts as the latest."""
    return not at or not than or Decimal(at) > Decimal(than)


def _restoration_key(message: Message) -> str:
    return f"teams:restored:{message.interaction_id}"


_RESTORE_EVENT = "undeleteMessage"


class EditListener:
    """Handles messageUpdate and messageDelete. Implements `Listener`.

    Teams sends these and the message itself in any order. So an edited question is first accepted
    in its new form, which does nothing if it is stored already, and then amended; a message that is
    deleted before it arrives is not answered later. A deletion older than the message's last
    restoration is ignored.
    """

    def __init__(self, context: ChatContext, messages: MessageListener) -> None:
        self._context = context
        self._messages = messages
        self._edits = MessageEdits(context)
        self._withdrawals = MessageWithdrawals(context)
        self._restorations = Restorations(context)

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
        """Return a message with the id under which it is answered."""
        if text_at(body, "channelData", "eventType") == _RESTORE_EVENT:
            await self._messages.deleted.forget(message)
            if not message.overheard:
                return await self._restorations.restore(message, sent_at(body))
        return await as_new_question(self._context, await self._restorations.newest(message))

    async def _became_order(self, message: Message) -> bool:
        """Return whether an edit turned a message that was no question into a command.

        Such a command is not run.
        """
        order = parse_message_text(message.text, COMMAND_SPELLING)
        if order is None or isinstance(order, AskRequest):
            return False
        return await self._context.interactions.get(message.interaction_id) is None

    async def _deleted(self, body: Body) -> bool:
        message = _message_at(body, self._context.tenant)
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
        # The message may have arrived meanwhile, and have been checked before the note existed.
        await self._withdrawals.withdraw(message)


def _message_at(body: Body, tenant: str) -> Message:
    """Return a message without text, which only identifies the deleted one."""
    return Message(
        id=text_at(body, "id"),
        thread=thread_of(body, tenant),
        author=person_of(body),
        text="",
        received_at=datetime.now(UTC),
        private=is_private(body),
        reply_to=reference_of(body),
    )
