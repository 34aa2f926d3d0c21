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
from bot.errands import Errands
from bot.errors import BotError
from bot.office import Office
from bot.orders.parsing import message_order
from bot.orders.types import Ask, Misunderstood, Order, Orderer, ReindexOrder, Settings, Status, Why
from bot.pressing.declining import LATER
from bot.types import Message

SOON_SECONDS = 5.0
"""What takes longer is acknowledged, and goes on."""

log = structlog.get_logger(__name__)


class Answers(Protocol):
    """Answers an order with a message. Raises BotError."""

    async def answer(self, message: Message, by: Orderer) -> tuple[Json, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Implements Registers: messages that are orders; every other one is left for others.

    Each is carried out once, as it was first written; what could not be done is told, for nothing
    tries it again. Only colleagues may order.
    """

    office: Office
    orderers: Orderers
    once: Once
    connector: Connector
    errands: Errands
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
        self, message: Message, order: Order | Misunderstood, done: asyncio.Event
    ) -> None:
        try:
            for activity in await self._answered(message, order):
                await self.connector.send(message.reply_to, activity)
        finally:
            done.set()

    async def _answered(self, message: Message, order: Order | Misunderstood) -> tuple[Json, ...]:
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
        self, message: Message, order: Order | Misunderstood, by: Orderer
    ) -> tuple[Json, ...]:
        match order:
            case Misunderstood(text) | Ask(text):
                return said(text)
            case Settings():
                return await self.settings.answer(message, by)
            case Status():
                return await self.standing.answer(message, by)
            case Why():
                return await self.why.answer(message, by)
            case ReindexOrder():
                return await self.reindexing.begin(order, message, by)
            case _:
                return said((await self.office.orders.answer(order, by)).text)


def _order_in(message: Message) -> Order | Misunderstood | None:
    """Return what a message orders; None for what is rather meant as a question."""
    if message.overheard or message.attachments:
        return None
    order = message_order(message.text, SPELLING)
    return None if isinstance(order, Ask) else order
