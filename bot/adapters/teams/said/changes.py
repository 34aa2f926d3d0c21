"""What people change of what they wrote in Teams: edited, deleted, and the deletion taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.commands.orderers import SPELLING
from bot.adapters.teams.said.messages import Messages
from bot.adapters.teams.said.restored import Restorations, is_later
from bot.adapters.teams.wire.body import (
    Body,
    conversation_of,
    is_private,
    person_of,
    sent_at,
    text_at,
)
from bot.adapters.teams.wire.reading import thread_of
from bot.adapters.teams.wire.reference import reference_of
from bot.chat.adapters import ChatContext
from bot.chat.commands.parsing import parse_message_text
from bot.chat.commands.types import AskRequest
from bot.chat.messages import MessageEdits, MessageWithdrawals, as_new_question
from bot.domain.types import Message

_RESTORED = "undeleteMessage"


class Changes:
    """Implements Registers: messageUpdate and messageDelete.

    Teams sends these in any order with the message itself. So an edited question is accepted as it
    reads now, which does nothing when it is there already, before it is amended; and one that is
    deleted before it is known is not answered when it comes. A deletion that is older than the
    message's last restoration is left.
    """

    def __init__(self, office: ChatContext, messages: Messages) -> None:
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
        if text_at(body, "channelData", "eventType") == _RESTORED:
            await self._messages.deleted.forget(message)
            if not message.overheard:
                return await self._restorations.restore(message, sent_at(body))
        return await as_new_question(self._office, await self._restorations.newest(message))

    async def _became_order(self, message: Message) -> bool:
        """Tell whether an edit made an order of what was no question; that is left undone."""
        order = parse_message_text(message.text, SPELLING)
        if order is None or isinstance(order, AskRequest):
            return False
        return await self._office.interactions.get(message.interaction_id) is None

    async def _deleted(self, body: Body) -> bool:
        message = _at(body, self._office.tenant)
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


def _at(body: Body, tenant: str) -> Message:
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
