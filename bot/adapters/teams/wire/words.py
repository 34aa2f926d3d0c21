"""What a message says in its writer's own words, and what it quotes. Pure.

Teams sends a message as text, and once more as HTML among the attachments. The text holds a
forwarded message like the writer's own words; only the HTML tells them apart.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from bot.adapters.teams.wire.body import Body, objects_at, text_at
from bot.adapters.teams.wire.markup import Quote, Written, written
from bot.adapters.teams.wire.mentions import plain_spaces, without_mentions

HTML_TYPE = "text/html"
_QUOTED = re.compile(r'<quoted messageId="[^"<>]*"\s*/>')
_ENTITY = re.compile(r"&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
"""With its semicolon: without, ``&copy=1`` of an address would become a sign."""


@dataclass(frozen=True, slots=True)
class Words:
    """``text`` is what is said; ``quotes`` what it is said about."""

    text: str
    quotes: tuple[Quote, ...] = ()


def words_of(body: Body) -> Words:
    """Return what an activity says, without the bot's mention.

    Who quotes or forwards somebody and adds nothing says what is quoted. What the bot itself said
    is never quoted: it stands in the conversation.
    """
    said = _said(body)
    bot = text_at(body, "recipient", "id")
    quotes = tuple(quote for quote in said.quotes if quote.author_id != bot)
    if said.text or not quotes:
        return Words(said.text, quotes)
    return Words("\n\n".join(quote.text for quote in quotes))


def shown_in(body: Body) -> Written:
    """Return what the HTML of an activity says."""
    for attachment in objects_at(body, "attachments"):
        if text_at(attachment, "contentType") == HTML_TYPE:
            return written(text_at(attachment, "content"))
    return Written("")


def _said(body: Body) -> Words:
    text, quoted = plain_spaces(text_at(body, "text")), _quoted_in(body)
    if quoted:
        text = _QUOTED.sub("", text)
    if text_at(body, "textFormat") == "xml":
        read = written(without_mentions(body, text, shown=html.escape))
        return Words(read.text, read.quotes or quoted)
    own = _ENTITY.sub(lambda entity: html.unescape(entity[0]), without_mentions(body, text))
    quotes = shown_in(body).quotes
    for quote in quotes:
        own = _without(own, quote)
    return Words(own.strip(), quotes or quoted)


def _quoted_in(body: Body) -> tuple[Quote, ...]:
    """Return what the entities say is quoted."""
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


def _without(text: str, quote: Quote) -> str:
    """Return a text without the quote that it ends with (forwarded), or begins with (a reply)."""
    if quote.forwarded:
        return _cut_end(text, quote.text.split())
    for words in (f"{quote.author} {quote.text}".split(), quote.text.split()):
        rest = _cut_start(text, words)
        if rest != text:
            return rest
    return text


def _cut_end(text: str, words: list[str]) -> str:
    """Return a text without the words it ends with. Quotes may be many: the rest is not split."""
    parts, count = text.rsplit(maxsplit=len(words)), len(words)
    return "".join(parts[:-count]) if words and parts[-count:] == words else text


def _cut_start(text: str, words: list[str]) -> str:
    parts, count = text.split(maxsplit=len(words)), len(words)
    return "".join(parts[count:]) if words and parts[:count] == words else text
