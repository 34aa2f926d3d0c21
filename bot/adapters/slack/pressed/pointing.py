"""A message that somebody points at with the shortcut: pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.adapters.slack.showing.blocks import section
from bot.adapters.slack.showing.render import Form
from bot.adapters.slack.wire.events import (
    Event,
    Us,
    attachments_in,
    id_at,
    is_ours,
    object_at,
    text_at,
    ts_at,
)
from bot.adapters.slack.wire.reply_to import pointed
from bot.adapters.slack.wire.text import escaped, ids_in, plain
from bot.domain.text.markdown import split
from bot.domain.types import Attachment, Message, Person, Thread

NOBODY = Us()
_QUOTED = 2_000
_DOMAIN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class Pointed:
    """Who points at which message; ``thread`` is the first message of its thread.

    ``link`` opens it, "" where its workspace is not named. ``own``: the bot itself wrote it.
    ``author`` wrote it, "" where Slack names nobody.
    """

    user: str
    channel: str
    ts: str
    thread: str
    text: str
    link: str
    response_url: str
    attachments: tuple[Attachment, ...] = ()
    author: str = ""
    own: bool = False

    def asked_there(self, tenant: str, *, private: bool) -> Message:
        """Return it as asked where it stands; a message has one id, whoever points at it."""
        return self._asked(self.ts, Thread("slack", tenant, self.channel, self.thread), private)

    def asked_directly(self, tenant: str, place: str, opening: str) -> Message:
        """Return it as asked in a direct conversation, in the thread of what opened it."""
        thread = Thread("slack", tenant, place, opening)
        return self._asked(f"{opening}:pointed", thread, private=True)

    def quoted(self) -> Form:
        """Return what opens the direct conversation about it."""
        where = f"<{self.link}|a message>" if self.link else "a message"
        said = split(self.text, _QUOTED, lambda part: len(escaped(part)))[0]
        quote = "\n".join(f"> {line}" for line in escaped(said).split("\n")) if said else ""
        text = f"You asked me about {where}:\n{quote}".rstrip()
        return Form(text, (section(text),))

    def _asked(self, id_: str, thread: Thread, private: bool) -> Message:  # noqa: FBT001
        return Message(
            id=id_,
            thread=thread,
            author=Person(id=self.user),
            text=self.text,
            received_at=datetime.now(UTC),
            private=private,
            reply_to="" if private or self.author == self.user else pointed(),
            attachments=self.attachments,
        )


def pointed_of(
    body: Event, us: Us = NOBODY, names: Mapping[str, str] | None = None
) -> Pointed | None:
    """Return what a shortcut points at, or None for what names no message.

    ``names`` are put in place of ids in its text.
    """
    message = object_at(body, "message")
    user = id_at(object_at(body, "user"), "id")
    channel = id_at(object_at(body, "channel"), "id")
    ts = ts_at(message, "ts") or ts_at(body, "message_ts")
    if not (user and channel and ts):
        return None
    thread = ts_at(message, "thread_ts") or ts
    return Pointed(
        user=user,
        channel=channel,
        ts=ts,
        thread=thread,
        text=plain(text_at(message, "text"), names).strip(),
        link=_link(text_at(object_at(body, "team"), "domain"), channel, ts, thread),
        response_url=text_at(body, "response_url"),
        attachments=tuple(attachments_in(message)),
        author=id_at(message, "user"),
        own=is_ours(message, us),
    )


def ids_pointed_at(body: Event) -> frozenset[str]:
    """Return the ids that the text of the message mentions without a name."""
    return ids_in(text_at(object_at(body, "message"), "text"))


def _link(domain: str, channel: str, ts: str, thread: str) -> str:
    """Return a message's address as Slack writes it; it can't be asked where the bot is not."""
    if not _DOMAIN.fullmatch(domain):
        return ""
    address = f"https://{domain}.slack.com/archives/{channel}/p{ts.replace('.', '')}"
    return address if thread == ts else f"{address}?thread_ts={thread}&amp;cid={channel}"
