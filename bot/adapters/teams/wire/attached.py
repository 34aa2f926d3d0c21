"""What comes along with a message: files, pictures, and what its writer quotes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote as percent_encoded

from bot.adapters.teams.wire.body import Body, objects_at, text_at
from bot.adapters.teams.wire.markup import Quote
from bot.adapters.teams.wire.words import HTML_TYPE, shown_in
from bot.domain.types import Attachment

FILE_TYPE = "application/vnd.microsoft.teams.file.download.info"
INLINE = "data:text/plain;charset=utf-8,"
"""Where the text of a quote is: in its own address."""

_CARDS = ("application/vnd.microsoft.card.", "application/vnd.microsoft.teams.card.")
_MESSAGES = frozenset({"messageReference", "forwardedMessageReference"})
_PDF = "application/pdf"


def attachments_in(body: Body, quotes: Sequence[Quote]) -> tuple[Attachment, ...]:
    """Return what comes along, quotes first.

    What Teams does not hand out has no place, so that its sender is told that it was not read:
    files in channels and group chats, and pictures.
    """
    return (*map(_quoted, quotes), *_files(body))


def _quoted(quote: Quote) -> Attachment:
    kind = "forwarded message" if quote.forwarded else "message"
    text = quote.text.encode("utf-8", "replace")
    return Attachment(
        name=f"a {kind} by {quote.author}" if quote.author else f"a {kind}",
        media_type="text/plain",
        size=len(text),
        place=INLINE + percent_encoded(text),
    )


def _files(body: Body) -> Iterator[Attachment]:
    listed = objects_at(body, "attachments")
    for attachment in listed:
        kind = text_at(attachment, "contentType")
        if kind == FILE_TYPE:
            yield _file(attachment)
        elif kind.startswith("image/"):
            yield Attachment(text_at(attachment, "name") or "a picture", kind, 0, "")
        elif kind != HTML_TYPE and kind not in _MESSAGES and not kind.startswith(_CARDS):
            yield Attachment(text_at(attachment, "name") or "a shared file", "", 0, "")
    known = {text_at(attachment, "id") for attachment in listed}
    if not any(text_at(each, "contentType") in _MESSAGES for each in listed):
        yield from _unlisted(body, known)


def _unlisted(body: Body, known: set[str]) -> Iterator[Attachment]:
    """Yield what the HTML has a place for and nothing is told of: a channel's files."""
    for name in shown_in(body).attached:
        if name not in known:
            yield Attachment("a shared file", "", 0, "")


def _file(attachment: Body) -> Attachment:
    """Return a file of a personal chat; its address needs no token and holds for minutes."""
    ending = text_at(attachment, "content", "fileType").lower().removeprefix(".")
    place = text_at(attachment, "content", "downloadUrl")
    return Attachment(
        name=text_at(attachment, "name") or (f"file.{ending}" if ending else "a shared file"),
        media_type=_PDF if ending == "pdf" else "",
        size=0,
        place=place if place.startswith("https://") else "",
    )
