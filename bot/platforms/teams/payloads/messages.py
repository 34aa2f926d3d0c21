"""Parse an activity as a message: its text, quotes, attachments and thread; pure.

Teams sends a message as text, and again as HTML among the attachments. In the text a forwarded
message looks like the writer's own words; only the HTML distinguishes them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote as percent_encoded

from bot.chat.messages import ReceivedMessage
from bot.domain.messages import Attachment, Message, Thread
from bot.platforms.teams.payloads.activity import (
    Body,
    conversation_of,
    is_from_bot,
    is_private,
    objects_at,
    person_of,
    reference_of,
    text_at,
    thread_id_of,
    thread_root_of,
)
from bot.platforms.teams.payloads.markup import (
    HtmlContent,
    Quote,
    mentions_bot,
    plain_spaces,
    read_html,
    without_mentions,
)

HTML_TYPE = "text/html"
_QUOTED = re.compile(r'<quoted messageId="[^"<>]*"\s*/>')
_ENTITY = re.compile(r"&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
"""Requires the semicolon: otherwise ``&copy=1`` in a URL would become a sign."""


@dataclass(frozen=True, slots=True)
class MessageText:
    """A message's ``text``, and the ``quotes`` that it refers to."""

    text: str
    quotes: tuple[Quote, ...] = ()


def message_text_of(body: Body) -> MessageText:
    """Return the text of an activity, without the bot's mention.

    If somebody quotes or forwards and adds nothing, the quote is the text. The bot's own messages
    are never quotes: they are in the conversation already.
    """
    said = _text_and_quotes(body)
    bot = text_at(body, "recipient", "id")
    quotes = tuple(quote for quote in said.quotes if quote.author_id != bot)
    if said.text or not quotes:
        return MessageText(said.text, quotes)
    return MessageText("\n\n".join(quote.text for quote in quotes))


def html_in(body: Body) -> HtmlContent:
    """Return the content of an activity's HTML."""
    for attachment in objects_at(body, "attachments"):
        if text_at(attachment, "contentType") == HTML_TYPE:
            return read_html(text_at(attachment, "content"))
    return HtmlContent("")


def _text_and_quotes(body: Body) -> MessageText:
    text, quoted = plain_spaces(text_at(body, "text")), _quoted_in(body)
    if quoted:
        text = _QUOTED.sub("", text)
    if text_at(body, "textFormat") == "xml":
        read = read_html(without_mentions(body, text, shown=html.escape))
        return MessageText(read.text, read.quotes or quoted)
    own = _ENTITY.sub(lambda entity: html.unescape(entity[0]), without_mentions(body, text))
    quotes = html_in(body).quotes
    for quote in quotes:
        own = _without_quote(own, quote)
    return MessageText(own.strip(), quotes or quoted)


def _quoted_in(body: Body) -> tuple[Quote, ...]:
    """Return the quotes in the entities."""
    found = (
        Quote(
            text=text_at(entity, "quotedReply", "preview"),
            author=text_at(entity, "quotedReply", "senderName"),
            author_id=text_at(entity, "quotedReply", "senderId"),
        )
        for entity in objects_at(body, "entities")
        if text_at(entity, "type") == "quotedReply"
    )
    return tuple(found)


def _without_quote(text: str, quote: Quote) -> str:
    """Return a text without the quote at its end (forwarded) or its start (reply)."""
    if quote.forwarded:
        return _cut_end(text, quote.text.split())
    for words in (f"{quote.author} {quote.text}".split(), quote.text.split()):
        rest = _cut_start(text, words)
        if rest != text:
            return rest
    return text


def _cut_end(text: str, words: list[str]) -> str:
    """Return a text without the words it ends with; only as much as needed is split."""
    parts, count = text.rsplit(maxsplit=len(words)), len(words)
    return "".join(parts[:-count]) if words and parts[-count:] == words else text


def _cut_start(text: str, words: list[str]) -> str:
    parts, count = text.split(maxsplit=len(words)), len(words)
    return "".join(parts[count:]) if words and parts[:count] == words else text


FILE_TYPE = "application/vnd.microsoft.teams.file.download.info"
INLINE_PREFIX = "data:text/plain;charset=utf-8,"
"""Prefix of a quote's attachment, whose text is in its own data URL."""

_CARD_TYPES = ("application/vnd.microsoft.card.", "application/vnd.microsoft.teams.card.")
_MESSAGE_REFERENCES = frozenset({"messageReference", "forwardedMessageReference"})
_PDF = "application/pdf"


def attachments_in(body: Body, quotes: Sequence[Quote]) -> tuple[Attachment, ...]:
    """Return the attachments of a message, quotes first.

    Those that Teams gives no download for have no place, so that the sender is told that they were
    not read: files in channels and group chats, and pictures.
    """
    return (*map(_quote_attachment, quotes), *_files(body))


def _quote_attachment(quote: Quote) -> Attachment:
    kind = "forwarded message" if quote.forwarded else "message"
    text = quote.text.encode("utf-8", "replace")
    return Attachment(
        name=f"a {kind} by {quote.author}" if quote.author else f"a {kind}",
        media_type="text/plain",
        size=len(text),
        place=INLINE_PREFIX + percent_encoded(text),
    )


def _files(body: Body) -> Iterator[Attachment]:
    listed = objects_at(body, "attachments")
    for attachment in listed:
        kind = text_at(attachment, "contentType")
        if kind == FILE_TYPE:
            yield _file(attachment)
        elif kind.startswith("image/"):
            yield Attachment(text_at(attachment, "name") or "a picture", kind, 0, "")
        elif (
            kind != HTML_TYPE
            and kind not in _MESSAGE_REFERENCES
            and not kind.startswith(_CARD_TYPES)
        ):
            yield Attachment(text_at(attachment, "name") or "a shared file", "", 0, "")
    known = {text_at(attachment, "id") for attachment in listed}
    if not any(text_at(each, "contentType") in _MESSAGE_REFERENCES for each in listed):
        yield from _unlisted_files(body, known)


def _unlisted_files(body: Body, known: set[str]) -> Iterator[Attachment]:
    """Yield attachments that the HTML refers to but the activity lacks: a channel's files."""
    for name in html_in(body).attached:
        if name not in known:
            yield Attachment("a shared file", "", 0, "")


def _file(attachment: Body) -> Attachment:
    """Return a file of a personal chat; its URL needs no token and expires after minutes."""
    ending = text_at(attachment, "content", "fileType").lower().removeprefix(".")
    place = text_at(attachment, "content", "downloadUrl")
    return Attachment(
        name=text_at(attachment, "name") or (f"file.{ending}" if ending else "a shared file"),
        media_type=_PDF if ending == "pdf" else "",
        size=0,
        place=place if place.startswith("https://") else "",
    )


_MESSAGE_TYPES = frozenset({"message", "messageUpdate"})


def question_of(body: Body, *, tenant: str, received_at: datetime) -> Message | None:
    """Return a person's question to the bot, or None."""
    said = parse_message(body, tenant=tenant, received_at=received_at)
    if said is None or said.by_bot or said.message.overheard:
        return None
    return said.message


def parse_message(body: Body, *, tenant: str, received_at: datetime) -> ReceivedMessage | None:
    """Return the message in an activity; None if it has none or is the bot's own.

    Another bot's message counts only if it mentions this bot or is private. In a channel or group
    chat a message without a mention of the bot is marked as overheard. A group chat has no threads,
    so each of its messages begins one.
    """
    if text_at(body, "type") not in _MESSAGE_TYPES or not _is_message(body):
        return None
    by_bot, overheard = is_from_bot(body), not (is_private(body) or mentions_bot(body))
    if by_bot and overheard:
        return None
    words = message_text_of(body)
    message = Message(
        id=text_at(body, "id"),
        thread=thread_of(body, tenant),
        author=person_of(body),
        text=words.text,
        received_at=received_at,
        private=is_private(body),
        reply_to=reference_of(body),
        overheard=overheard,
        attachments=attachments_in(body, words.quotes),
        by_bot=by_bot,
    )
    return ReceivedMessage(message, begins=thread_root_of(body) in {"", message.id}, by_bot=by_bot)


def thread_of(body: Body, tenant: str) -> Thread:
    """Return the thread of an activity; the whole chat where there are no threads."""
    return Thread("teams", tenant, conversation_of(body), thread_id_of(body))


def _is_message(body: Body) -> bool:
    """Return whether somebody else wrote a message.

    A submit of an old card has a value, but no text.
    """
    sender, bot = text_at(body, "from", "id"), text_at(body, "recipient", "id")
    if not (sender and bot and text_at(body, "id") and conversation_of(body)):
        return False
    if sender == bot:
        return False
    return body.get("value") is None or bool(text_at(body, "text"))
