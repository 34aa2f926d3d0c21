"""Orders in words, where people write to the bot; answered where they were given."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import structlog

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.calling.connector import Connector
from bot.adapters.teams.commands.once import Once
from bot.adapters.teams.commands.orderers import OUTSIDERS, SPELLING, Orderers
from bot.adapters.teams.commands.reindexing import Reindexing
from bot.adapters.teams.commands.saying import said
from bot.adapters.teams.wire.body import Body, Json
from bot.adapters.teams.wire.reading import message_of
from bot.chat.actions import LATER
from bot.chat.adapters import ChatContext
from bot.chat.commands.parsing import parse_message_text
from bot.chat.commands.types import (
    AskRequest,
    CommandCaller,
    CommandRequest,
    InvalidCommand,
    ReindexRequest,
    SettingsRequest,
    StatusRequest,
    WhyRequest,
)
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError
from bot.domain.types import Message

SOON_SECONDS = 5.0
"""What takes longer is acknowledged, and goes on."""

log = structlog.get_logger(__name__)


class Answers(Protocol):
    """Answers an order with a message. Raises BotError."""

    async def answer(self, message: Message, by: CommandCaller) -> tuple[Json, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Implements Registers: messages that are orders; every other one is left for others.

    Each is carried out once, as it was first written; what could not be done is told, for nothing
    tries it again. Only colleagues may order.
    """

    office: ChatContext
    orderers: Orderers
    once: Once
    connector: Connector
    errands: BackgroundTasks
    settings: Answers
    standing: Answers
    why: Answers
    reindexing: Reindexing
    soon_seconds: float = SOON_SECONDS

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("message", self._take)
        dispatch.on_activity("messageUpdate", self._leave)

    async def _take(self, body: Body) -> bool:
        message = message_of(body, tenant=self.office.tenant, received_at=datetime.now(UTC))
        order = None if message is None else _order_in(message)
        if message is None or order is None:
            return False
        if await self.once.first(message.key):
            done = asyncio.Event()
            self.errands.run(self._answer(message, order, done), what="answer to an order")
            with suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), self.soon_seconds)
        return True

    async def _leave(self, body: Body) -> bool:
        """Leave an order that was edited: it was carried out, and is no question either."""
        message = message_of(body, tenant=self.office.tenant, received_at=datetime.now(UTC))
        return message is not None and await self.once.was_here(message.key)

    async def _answer(
        self, message: Message, order: CommandRequest | InvalidCommand, done: asyncio.Event
    ) -> None:
        try:
            for activity in await self._answered(message, order):
                await self.connector.send(message.reply_to, activity)
        finally:
            done.set()

    async def _answered(
        self, message: Message, order: CommandRequest | InvalidCommand
    ) -> tuple[Json, ...]:
        """Carry out an order; return what is said of it."""
        try:
            by = await self.orderers.of(message.reply_to)
            return said(OUTSIDERS) if by is None else await self._carried_out(message, order, by)
        except BotError as error:
            log.warning("teams.order_failed", error=type(error).__name__, why=str(error))
        except Exception as error:
            log.exception("teams.order_broke", error=type(error).__name__)
        return said(LATER)

    async def _carried_out(
        self, message: Message, order: CommandRequest | InvalidCommand, by: CommandCaller
    ) -> tuple[Json, ...]:
        match order:
            case InvalidCommand(text) | AskRequest(text):
                return said(text)
            case SettingsRequest():
                return await self.settings.answer(message, by)
            case StatusRequest():
                return await self.standing.answer(message, by)
            case WhyRequest():
                return await self.why.answer(message, by)
            case ReindexRequest():
                return await self.reindexing.begin(order, message, by)
            case _:
                return said((await self.office.orders.answer(order, by)).text)


def _order_in(message: Message) -> CommandRequest | InvalidCommand | None:
    """Return what a message orders; None for what is rather meant as a question."""
    if message.overheard or message.attachments:
        return None
    order = parse_message_text(message.text, SPELLING)
    return None if isinstance(order, AskRequest) else order
