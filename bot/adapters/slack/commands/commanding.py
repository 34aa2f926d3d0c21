"""Slash commands as Slack sends them, and what they order: pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from bot.adapters.slack.wire.events import Event, id_at, text_at
from bot.adapters.slack.wire.text import plain
from bot.chat.commands.parsing import parse_command_text, parse_reindex_text
from bot.chat.commands.types import AskRequest, CommandRequest, CommandSyntax, InvalidCommand
from bot.domain.types import Message, Person, Thread

FRONTDESK, REINDEX = "/frontdesk", "/reindex"
SPELLING = CommandSyntax(f"{FRONTDESK} ", REINDEX)


@dataclass(frozen=True, slots=True)
class Command:
    """One command; nothing of it is checked yet.

    ``trigger_id`` opens a form within three seconds, and names the command; ``response_url`` takes
    five messages within half an hour.
    """

    name: str
    text: str
    user: str
    channel: str
    trigger_id: str
    response_url: str

    @property
    def is_direct(self) -> bool:
        """Whether it was given between two people, or to the bot alone."""
        return self.channel.startswith("D")

    def order(self) -> CommandRequest | InvalidCommand:
        """Return what is ordered. A question is as its writer meant it, mentions as words."""
        read = parse_reindex_text if self.name == REINDEX else parse_command_text
        order = read(self.text, SPELLING)
        return (
            AskRequest(plain(order.text))
            if isinstance(order, AskRequest)
            else read(_typed(self.text), SPELLING)
        )

    def asked(self, text: str, tenant: str, now: datetime) -> Message:
        """Return a question as its writer's own, in a thread that nobody else sees."""
        name = f"command:{self.trigger_id}"
        return Message(
            id=name,
            thread=Thread("slack", tenant, self.channel, name),
            author=Person(self.user),
            text=text,
            received_at=now,
            private=True,
            reply_to=json.dumps({"response_url": self.response_url}),
        )


def command_of(body: Event) -> Command | None:
    """Return a command, or None for what names nobody, no place, or nowhere to answer."""
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


def _typed(text: str) -> str:
    """Return what somebody typed, with Slack's links as they are."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
