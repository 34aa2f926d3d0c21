"""Slash commands, answered to who gave them alone; Slack sends none of them twice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.adapters.slack.commands.commanding import FRONTDESK, REINDEX, Command, command_of
from bot.adapters.slack.commands.orderers import OUTSIDERS, Orderers
from bot.adapters.slack.commands.saying import said
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.showing.posting import blocks_of
from bot.adapters.slack.showing.render import Form
from bot.chat.actions import LATER
from bot.chat.adapters import ChatContext
from bot.chat.commands.types import (
    AskRequest,
    CommandCaller,
    InvalidCommand,
    ReindexRequest,
    SettingsRequest,
    WhyRequest,
)
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError
from bot.domain.text.markdown import clip

SOON_SECONDS = 1.5
"""What takes longer is acknowledged, and answered at the address that came with the command."""

_ONE_MOMENT = "One moment\u2026"
_NOT_UNDERSTOOD = "I couldn't read this command. Please try it again."
_LONGEST_ECHO = 300

log = structlog.get_logger(__name__)


class Opens(Protocol):
    """Answers a command with a form; None says that it is open. Raises BotError."""

    async def open(self, command: Command, by: CommandCaller) -> Form | None: ...


class Reindexes(Protocol):
    """Begins a run and shows how far it is. Raises BotError."""

    async def begin(self, order: ReindexRequest, command: Command, by: CommandCaller) -> Form: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Implements Registers: /frontdesk and /reindex.

    What could not be done is told at once, as nothing tries it again. Only colleagues may order.
    """

    office: ChatContext
    orderers: Orderers
    asides: Asides
    errands: BackgroundTasks
    settings: Opens
    why: Opens
    reindexes: Reindexes
    soon_seconds: float = SOON_SECONDS

    def register(self, bolt: AsyncApp) -> None:
        bolt.command(FRONTDESK)(self._take)
        bolt.command(REINDEX)(self._take)

    async def _take(self, ack: AsyncAck, body: dict[str, object]) -> None:
        command = command_of(body)
        if command is None:
            log.info("slack.command_not_understood", command=body.get("command"))
            await ack(_NOT_UNDERSTOOD)
            return
        answering = asyncio.create_task(self._answered(command))
        done, _ = await asyncio.wait({answering}, timeout=self.soon_seconds)
        if not done:
            self.errands.run(self._late(command, answering), what="answer to a command")
            await ack(_ONE_MOMENT)
        elif (form := answering.result()) is None:
            await ack()
        else:
            await ack(text=form.text, blocks=blocks_of(form), response_type="ephemeral")

    async def _late(self, command: Command, answering: asyncio.Task[Form | None]) -> None:
        form = await answering
        if form is not None:
            await self.asides.tell(command.response_url, form.text, form.blocks)

    async def _answered(self, command: Command) -> Form | None:
        """Carry out a command; return what is said of it."""
        try:
            by = await self.orderers.of(command.user)
            return said(OUTSIDERS) if by is None else await self._carried_out(command, by)
        except BotError as error:
            log.warning("slack.command_failed", error=type(error).__name__, why=str(error))
        except Exception as error:
            log.exception("slack.command_broke", error=type(error).__name__)
        return said(LATER)

    async def _carried_out(self, command: Command, by: CommandCaller) -> Form | None:
        match order := command.order():
            case InvalidCommand(text):
                return said(text)
            case AskRequest(text):
                return await self._ask(command, text)
            case WhyRequest():
                return await self.why.open(command, by)
            case SettingsRequest():
                return await self.settings.open(command, by)
            case ReindexRequest():
                return await self.reindexes.begin(order, command, by)
            case _:
                return said((await self.office.orders.answer(order, by)).text)

    async def _ask(self, command: Command, text: str) -> Form:
        """Keep a question; the answer comes as any other does, to its asker alone."""
        asked = command.asked(text, self.office.tenant, datetime.now(UTC))
        await self.office.inbox.accept(asked)
        return said(f"Looking\u2026\n> {clip(text, _LONGEST_ECHO)}")
