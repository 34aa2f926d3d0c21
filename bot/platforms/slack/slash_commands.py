"""Parse Slack's slash commands, and reply to each so that only its sender sees it.

Slack sends a command once, so a failure is reported at once. Only colleagues may give commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.answering.explanations.explainer import NOTHING_YET, Explanation
from bot.chat.actions import ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandSenders, reply_to_command
from bot.chat.commands.parsing import asks_for_cases, parse_command_text, parse_reindex_text
from bot.chat.commands.types import (
    AskRequest,
    CommandCaller,
    CommandRequest,
    CommandSyntax,
    InvalidCommand,
    ReindexRequest,
    SettingsRequest,
    WhyRequest,
)
from bot.domain.markdown import clip, split
from bot.domain.messages import Message, Person, Thread
from bot.domain.ports import SEEN_COMMANDS
from bot.domain.texts import join_texts, tr
from bot.platforms.slack.actions.answer_buttons import ExplanationModals
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.posting import language_of
from bot.platforms.slack.payloads.events import Event, id_at, text_at, ts_at
from bot.platforms.slack.payloads.markup import escaped, from_mrkdwn, unescaped
from bot.platforms.slack.payloads.metadata import Place
from bot.platforms.slack.rendering import SECTION_LIMIT, MessageForm, blocks_of, section

_MOST_SECTIONS = 4
"""Slack's limit is about 13,000 characters over all blocks of a message."""

_TEXT_LIMIT = 3_900


def plain_message(text: str, *live: str) -> MessageForm:
    """Return plain text as a message; ``live`` is mrkdwn that code built, below it.

    In blocks an address stays text; the text beside them is shown in notifications.
    """
    parts = [escaped(part) for part in split(text, SECTION_LIMIT, lambda part: len(escaped(part)))]
    shown = [part for part in (*parts[:_MOST_SECTIONS], *live) if part.strip()]
    return MessageForm(escaped(split(text, _TEXT_LIMIT)[0]), tuple(map(section, shown)))


FRONTDESK, REINDEX = "/frontdesk", "/reindex"
COMMAND_SPELLING = CommandSyntax(f"{FRONTDESK} ", REINDEX)


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command as Slack sends it; nothing of it is verified yet.

    ``trigger_id`` opens a modal within three seconds, and identifies the command; ``response_url``
    takes five messages within half an hour.
    """

    name: str
    text: str
    user: str
    channel: str
    trigger_id: str
    response_url: str

    @property
    def is_direct(self) -> bool:
        """Whether it was given in a direct conversation, between two people or with the bot."""
        return self.channel.startswith("D")

    def request(self) -> CommandRequest | InvalidCommand:
        """Return the parsed request; mentions in a question are converted to words."""
        read = parse_reindex_text if self.name == REINDEX else parse_command_text
        request = read(self.text, COMMAND_SPELLING)
        return (
            AskRequest(from_mrkdwn(request.text))
            if isinstance(request, AskRequest)
            else read(unescaped(self.text), COMMAND_SPELLING)
        )

    def question(self, text: str, tenant: str, now: datetime, reply_to: str) -> Message:
        """Return a question as a message of the sender, in a thread that nobody else sees."""
        name = f"command:{self.trigger_id}"
        return Message(
            id=name,
            thread=Thread("slack", tenant, self.channel, name),
            author=Person(self.user),
            text=text,
            received_at=now,
            private=True,
            reply_to=reply_to,
        )


def parse_slash_command(body: Event) -> Command | None:
    """Return a command, None if its user, channel, trigger or response URL is missing."""
    command = Command(
        name=text_at(body, "command"),
        text=text_at(body, "text"),
        user=id_at(body, "user_id"),
        channel=id_at(body, "channel_id"),
        trigger_id=text_at(body, "trigger_id"),
        response_url=text_at(body, "response_url"),
    )
    whole = command.user and command.channel and command.trigger_id and command.response_url
    return command if whole else None


SOON_SECONDS = 1.5
"""A command that takes longer is acknowledged, and answered at its response URL."""

_ONE_MOMENT = tr("One moment \u2026")
_NOT_UNDERSTOOD = tr("I couldn't read this command. Please try again.")
_LONGEST_ECHO = 300

log = structlog.get_logger(__name__)


async def _asks_for_own_cases(event: dict[str, object]) -> bool:
    written = text_at(event, "channel_type") == "im" and not event.get("bot_id")
    return written and not event.get("subtype") and asks_for_cases(text_at(event, "text"))


OpenModal = Callable[[Command, CommandCaller], Awaitable[MessageForm | None]]
"""Answers a command with a modal; returns a message if none is opened. Raises BotError."""

OrderRun = Callable[[ReindexRequest, Command, CommandCaller], Awaitable[MessageForm]]
"""Starts a run and shows its progress. Raises BotError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommands:
    """Handles /frontdesk and /reindex. Implements `Listener`.

    A failure is reported at once, as nothing retries a command. Only colleagues may give commands.
    """

    channel: SlackChannel
    context: ChatContext
    senders: CommandSenders
    open_settings: OpenModal
    order_run: OrderRun
    explain_action: ExplainAction
    explanation_modals: ExplanationModals

    def register(self, bolt: AsyncApp) -> None:
        bolt.command(FRONTDESK)(self._on_command)
        bolt.command(REINDEX)(self._on_command)
        bolt.event("message", matchers=[_asks_for_own_cases])(self._on_words)

    async def _on_command(self, ack: AsyncAck, body: dict[str, object]) -> None:
        command, language = parse_slash_command(body), language_of(self.channel.client.web)
        if command is None:
            log.info("slack.command_not_understood", command=body.get("command"))
            await ack(language.text(_NOT_UNDERSTOOD))
            return
        replying = reply_to_command(lambda: self._execute(command), plain_message, platform="slack")
        answering = asyncio.create_task(replying)
        done, _ = await asyncio.wait({answering}, timeout=SOON_SECONDS)
        if not done:
            self.channel.background.run(
                self._respond_late(command, answering), what="answer to a command"
            )
            await ack(language.text(_ONE_MOMENT))
        elif (form := answering.result()) is None:
            await ack()
        else:
            shown = {"text": form.text, "blocks": blocks_of(form)}
            await ack(**language.render_all(shown), response_type="ephemeral")

    async def _on_words(self, event: dict[str, object]) -> None:
        """List the writer's cases, once, in the thread of a direct message that asks for them."""
        channel, user, ts = id_at(event, "channel"), id_at(event, "user"), ts_at(event, "ts")
        key = f"{SEEN_COMMANDS}{channel}:{ts}"
        if channel and user and ts and await self.context.notes.first(self.context.tenant, key):
            place = Place(channel, ts_at(event, "thread_ts") or ts, since=ts)
            self.channel.background.run(self._say_cases(place, user), what="own cases")

    async def _say_cases(self, place: Place, user: str) -> None:
        async def run() -> MessageForm:
            by = await self.senders.caller(user)
            return plain_message((await self.context.commands.my_cases(by)).text)

        form = await reply_to_command(run, plain_message, platform="slack")
        await self.channel.client.chat_post_message(place, (form,))

    async def _respond_late(
        self, command: Command, answering: asyncio.Task[MessageForm | None]
    ) -> None:
        form = await answering
        if form is not None:
            await self.channel.client.respond(command.response_url, (form,))

    async def _execute(self, command: Command) -> MessageForm | None:
        """Execute a command; return the reply, None if a modal shows it."""
        channel = "" if command.is_direct else command.channel
        by = await self.senders.caller(command.user, channel=channel)
        match request := command.request():
            case InvalidCommand(text):
                return plain_message(text)
            case AskRequest(text):
                return await self._ask(command, text)
            case WhyRequest():
                self._open_explanation(command)
                return None
            case SettingsRequest():
                return await self.open_settings(command, by)
            case ReindexRequest():
                return await self.order_run(request, command, by)
            case _:
                return plain_message((await self.context.commands.answer(request, by)).text)

    async def _ask(self, command: Command, text: str) -> MessageForm:
        """Put a question into the inbox; its answer is delivered later, to its asker alone."""
        reply_to = self.channel.response_urls.reply_to(command.response_url)
        question = command.question(text, self.context.tenant, datetime.now(UTC), reply_to)
        await self.context.inbox.accept(question)
        return plain_message(
            join_texts("\n", (tr("Searching \u2026"), f"> {clip(text, _LONGEST_ECHO)}"))
        )

    def _open_explanation(self, command: Command) -> None:
        """Explain the sender's newest question in a modal, which shows errors too."""
        opening = self.explanation_modals.show(
            command.trigger_id, self._explain(command), unknown=NOTHING_YET
        )
        self.channel.background.run(opening, what="why by command")

    async def _explain(self, command: Command) -> Explanation:
        """Explain with what everybody in the thread may read, as the "Why" button there does."""
        newest = await self.explain_action.newest("slack", command.channel, command.user)
        return await self.explain_action.explain(newest, command.user)
