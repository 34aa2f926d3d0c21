"""Run commands sent to the bot as messages, once each, and reply where they were sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from bot.answering.explanations.explainer import NOTHING_YET
from bot.chat.actions import ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandSenders, reply_to_command
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
from bot.chat.votes import can_be_rated
from bot.domain.errors import InteractionUnknown, StoreUnavailable
from bot.domain.messages import Message
from bot.domain.ports import Notes
from bot.domain.texts import tr
from bot.platforms.teams.actions import explanation_card, explanation_title
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.channel_settings import SettingsDialog
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.members import COMMAND_SPELLING
from bot.platforms.teams.payloads.actions import SHOW_WHY
from bot.platforms.teams.payloads.activity import Body, Json
from bot.platforms.teams.payloads.messages import question_of
from bot.platforms.teams.reindex_runs import ReindexListener
from bot.platforms.teams.rendering.cards import dialog_button, text_messages, with_card

KEPT_SECONDS = 24 * 3600.0
"""Retention in seconds; Teams redelivers within seconds."""

_KEY_PREFIX = "teams:ordered:"


class CommandDeduplicator:
    """Stores handled commands for a day, shared by all processes. Raises StoreUnavailable."""

    def __init__(
        self, notes: Notes, tenant: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._notes = notes
        self._tenant = tenant
        self._clock = clock

    async def first(self, key: str) -> bool:
        """Store a command by its message key; return whether it is new."""
        if not await self._notes.first(self._tenant, f"{_KEY_PREFIX}{key}", f"{self._clock():.0f}"):
            return False
        with suppress(StoreUnavailable):
            await self._forget_old()
        return True

    async def contains(self, key: str) -> bool:
        """Return whether a message was handled as a command."""
        return await self._notes.get(self._tenant, f"{_KEY_PREFIX}{key}") is not None

    async def _forget_old(self) -> None:
        since = self._clock() - KEPT_SECONDS
        for key, at in (await self._notes.beginning(self._tenant, _KEY_PREFIX)).items():
            if float(at) < since:
                await self._notes.remove(self._tenant, key)


_STATUS_NOT_HERE = tr(
    "People outside the company can read this conversation. Ask me again in a personal chat."
)


SAY_WHAT_WAS_WRONG = tr("Say what was wrong")


SOON_SECONDS = 5.0
"""Longest wait for a command before Teams' request is acknowledged; the command continues."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCommands:
    """Runs commands sent as messages, leaving others to later listeners. Implements `Listener`.

    Each command runs once, as first written. A failure is reported to the caller, as nothing
    retries it. Only colleagues may give commands.
    """

    channel: TeamsChannel
    context: ChatContext
    senders: CommandSenders
    handled: CommandDeduplicator
    settings: SettingsDialog
    explain: ExplainAction
    reindexing: ReindexListener

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("message", self._take)
        dispatch.on_activity("messageUpdate", self._skip_edit)

    async def _take(self, body: Body) -> bool:
        message = question_of(body, tenant=self.context.tenant, received_at=datetime.now(UTC))
        command = None if message is None else _command_in(message)
        if message is None or command is None:
            return False
        if await self.handled.first(message.key):
            answering = self._answer(message, command)
            task = self.channel.background.run(answering, what="answer to an order")
            await asyncio.wait({task}, timeout=SOON_SECONDS)
        return True

    async def _skip_edit(self, body: Body) -> bool:
        """Ignore the edit of a message that ran as a command; it becomes no question either."""
        message = question_of(body, tenant=self.context.tenant, received_at=datetime.now(UTC))
        return message is not None and await self.handled.contains(message.key)

    async def _answer(self, message: Message, command: CommandRequest | InvalidCommand) -> None:
        for activity in await reply_to_command(
            lambda: self._execute(message, command), text_messages, platform="teams"
        ):
            await self.channel.client.send(message.reply_to, activity)

    async def _execute(
        self, message: Message, command: CommandRequest | InvalidCommand
    ) -> tuple[Json, ...]:
        """Run a command; return the messages that report its result."""
        channel = "" if message.private else message.thread.channel
        by = await self.senders.caller(message.reply_to, alone=message.private, channel=channel)
        match command:
            case InvalidCommand(text) | AskRequest(text):
                return text_messages(text)
            case SettingsRequest():
                return await self.settings.answer(message, by)
            case StatusRequest():
                return await self._status(message, by)
            case WhyRequest():
                return await self._why(message, by)
            case ReindexRequest():
                return await self.reindexing.order(command, message, by)
            case _:
                return text_messages((await self.context.commands.answer(command, by)).text)

    async def _status(self, message: Message, by: CommandCaller) -> tuple[Json, ...]:
        """Return the state of the bot and the index, unless outsiders read along.

        The reply names every space.
        """
        if not by.alone and await self.channel.outside_readers.outside(message.reply_to):
            return text_messages(_STATUS_NOT_HERE)
        return text_messages((await self.context.commands.status(by)).text)

    async def _why(self, message: Message, by: CommandCaller) -> tuple[Json, ...]:
        """Return the explanation of the caller's newest answer, and a button to rate it.

        Everybody in the conversation can read it, so it is limited like the text below an answer.
        The rating dialog is an extra, which no client depends on.
        """
        try:
            newest = await self.explain.newest("teams", message.thread.channel, by.person.id)
            explanation = await self.explain.explain(newest, by.person.id)
        except InteractionUnknown:
            return text_messages(NOTHING_YET)
        rated = can_be_rated(newest.outcome)
        buttons = [dialog_button(SAY_WHAT_WAS_WRONG, SHOW_WHY, newest.id)] if rated else []
        summary = {"type": "message", "summary": explanation_title(explanation)}
        return (with_card(summary, explanation_card(explanation, actions=buttons)),)


def _command_in(message: Message) -> CommandRequest | InvalidCommand | None:
    """Return the command in a message; None if the text is more likely a question."""
    if message.overheard or message.attachments:
        return None
    command = parse_message_text(message.text, COMMAND_SPELLING)
    return None if isinstance(command, AskRequest) else command
