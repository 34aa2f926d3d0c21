"""Download and read the files attached to a message, and report which were not read.

Text, logs and PDF are read. Each platform downloads files with its own client. Download errors
never contain a URL.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Literal

import aiohttp
import structlog

from bot.answering.routing.message_text import error_lines
from bot.domain.errors import DeliveryFailed
from bot.domain.markdown import clip
from bot.domain.messages import Attached, Attachment, Message, Platform
from bot.domain.ports import Fetches

AttachmentKind = Literal["text", "pdf", "other"]

READABLE_KINDS = "text, logs and PDF"
"""The file kinds that are read, for users."""

_TEXT_ENDINGS = frozenset(
    """
    .bat .c .cc .cfg .cmd .conf .config .cpp .cs .css .csv .diff .dockerfile .env .err .eml .go .h
    .hpp .htm .html .ini .java .js .json .jsonl .jsx .kt .lua .log .markdown .md .ndjson .out
    .patch .php .pl .properties .ps1 .py .r .rb .reg .rs .rst .sh .sql .swift .tf .toml .trace .ts
    .tsv .tsx .txt .vbs .xml .yaml .yml
    """.split()
)
_TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in """
    ecmascript graphql javascript json ld+json ndjson sql toml typescript x-httpd-php
    x-javascript x-ndjson x-perl x-python x-ruby x-sh x-shellscript x-sql x-yaml xml yaml
    """.split()
)
_UNKNOWN_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_PDF = "application/pdf"


def attachment_kind(attachment: Attachment) -> AttachmentKind:
    """Return how to read a file; without a known media type or file name suffix, as text."""
    told = attachment.media_type.partition(";")[0].strip().lower()
    ending = PurePosixPath(attachment.name.lower()).suffix
    if told == _PDF or (told in _UNKNOWN_TYPES and ending == ".pdf"):
        return "pdf"
    if told.startswith("text/") or told in _TEXT_TYPES or told.endswith(("+json", "+xml")):
        return "other" if told.startswith("image/") else "text"
    if ending in _TEXT_ENDINGS:
        return "text"
    return "text" if told in _UNKNOWN_TYPES and not ending else "other"


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_COLOUR = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_LINE_ENDS = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_CONTROL_SHARE = 0.01
"""Largest share of control characters in a text."""
_GAP = "[\u2026]"
_LEAST_ROOM = 200


class NotText(Exception):
    """Raised when a file's bytes are not text."""


def decode_text(content: bytes) -> str:
    """Decode a file's bytes, with line feeds as line ends. Raises NotText.

    The encoding is that of the byte order mark, else UTF-8. Terminal colours and stray control
    characters are removed; above 1 % control characters the file is not text.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotText from error
    text = _COLOUR.sub("", text)
    few = int(len(text) * _CONTROL_SHARE)
    # Stops counting at the limit: decoding blocks the event loop.
    if next(islice(_CONTROL.finditer(text), few, None), None) is not None:
        raise NotText
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", _LINE_ENDS.sub("\n", text))


def shorten_text(text: str, room: int) -> str:
    """Shorten a text to ``room`` characters: its beginning, error lines between, and its end.

    Omissions are marked by an ellipsis. A text that fits is returned unchanged; with room for fewer
    than 200 characters, "" is returned.
    """
    if len(text) <= room:
        return text
    if room < _LEAST_ROOM:
        return ""
    left = room - 2 * len(f"\n{_GAP}\n")
    first, last = left // 4, left // 2
    between = text[first : len(text) - last]
    told = "\n".join(error_lines(between))[: left - first - last]
    parts = [text[:first], _GAP, told, _GAP, text[len(text) - last :]]
    return "\n".join(parts if told else [parts[0], _GAP, parts[-1]])[:room]


UnreadReason = Literal[
    "other_kind",
    "too_large",
    "too_many",
    "too_long",
    "not_handed_out",
    "not_text",
    "pdf_without_text",
    "empty",
]

MOST_FILES = 3
MOST_BYTES = 2_000_000
MOST_CHARACTERS = 20_000
"""Limit on the text of all files of a message together."""

_NUMBERS = ("no", "one", "two", "three", "four", "five")
_LONGEST_NAME = 80
_MOST_NAMES = 5
_REASON_TEXTS: Mapping[UnreadReason, str] = {
    "other_kind": f"I read {READABLE_KINDS} only.",
    "too_large": f"I read files of up to {MOST_BYTES / 1e6:g} MB.",
    "too_many": (
        f"I read {_NUMBERS[MOST_FILES]} files of a message, and {MOST_CHARACTERS:,} characters "
        "in all."
    ),
    "not_handed_out": "it was not handed out to me.",
    "not_text": "there is no text in it that I can read.",
    "pdf_without_text": "I could not get text out of that PDF.",
    "empty": "there is nothing in it.",
}


@dataclass(frozen=True, slots=True)
class UnreadAttachment:
    """A file that was not read, or only in part ("too_long")."""

    name: str
    why: UnreadReason


def unread_remarks(unread: Sequence[UnreadAttachment]) -> tuple[str, ...]:
    """Return one sentence per reason, in order of first occurrence."""
    by_reason: dict[UnreadReason, list[str]] = {}
    for each in unread:
        by_reason.setdefault(each.why, []).append(_display_name(each.name))
    return tuple(_remark(why, names) for why, names in by_reason.items())


def _remark(why: UnreadReason, names: Sequence[str]) -> str:
    if why == "too_long":
        return f"I read only parts of {_listed(names)}: it is long."
    because = _REASON_TEXTS[why]
    if len(names) > 1:
        because = because.replace("it was", "they were").replace("in it", "in them")
    return f"I did not read {_listed(names)}: {because}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMES])
    more = len(names) - len(shown)
    if more:
        shown.append(f"{more} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _display_name(name: str) -> str:
    """Return a file's name on one line, shortened: the name is untrusted."""
    return clip(" ".join(name.split()), _LONGEST_NAME) or "a file without a name"


_CHUNK_BYTES = 65_536
_OK = 200


@contextmanager
def download_errors(attachment: Attachment) -> Iterator[None]:
    """Raise DeliveryFailed in place of network errors, without the URL."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise DeliveryFailed(
            f"File {attachment.name!r} could not be fetched ({type(error).__name__})."
        ) from error


async def downloaded_bytes(
    attachment: Attachment, response: aiohttp.ClientResponse, *, most: int, host: str, cure: str
) -> bytes:
    """Return the body of a download response, of at most ``most`` bytes. Raises DeliveryFailed.

    Rejects any status but 200, redirects too, and a sign-in page, which is HTML with status 200;
    ``cure`` tells the operator how to fix that. A genuine HTML file is sent with
    ``Content-Disposition: attachment``.
    """
    if response.status != _OK:
        raise DeliveryFailed(f"File {attachment.name!r}: {host} answered {response.status}.")
    disposition = response.headers.get("Content-Disposition", "")
    if response.content_type == "text/html" and not disposition.startswith("attachment"):
        raise DeliveryFailed(f"File {attachment.name!r}: {host} wants a sign-in. {cure}")
    content = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
        content += chunk
        if len(content) > most:
            raise DeliveryFailed(f"File {attachment.name!r} is larger than {most} bytes.")
    return bytes(content)


_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReadAttachments:
    """The text of a message's files, and remarks to the asker about files that were not read."""

    attached: tuple[Attached, ...] = ()
    remarks: tuple[str, ...] = ()


ReadPdf = Callable[[bytes], Awaitable[str]]
"""Extracts the text of a PDF.

Raises NotText for a PDF without text, a locked or broken one, or one that takes too long.
"""


class AttachmentReader:
    """Read files through the platforms that can download them."""

    def __init__(self, platforms: Mapping[Platform, Fetches], read_pdf: ReadPdf) -> None:
        self._platforms = platforms
        self._read_pdf = read_pdf

    async def read(self, message: Message) -> ReadAttachments:
        """Read the first files of a message that are text or PDF, one after the other.

        A file that can't be read yields a remark, never an error.
        """
        attached: list[Attached] = []
        unread: list[UnreadAttachment] = []
        left = MOST_CHARACTERS
        for attachment in message.attachments:
            text = await self._text(message, attachment, full=len(attached) == MOST_FILES)
            if isinstance(text, UnreadAttachment):
                unread.append(text)
                continue
            kept = await asyncio.to_thread(shorten_text, text, left)
            if len(kept) < len(text):
                unread.append(UnreadAttachment(attachment.name, "too_long" if kept else "too_many"))
            if kept:
                attached.append(Attached(attachment.name, kept))
                left -= len(kept)
        return ReadAttachments(tuple(attached), unread_remarks(unread))

    async def _text(
        self, message: Message, attachment: Attachment, *, full: bool
    ) -> str | UnreadAttachment:
        kind, platform = attachment_kind(attachment), self._platforms.get(message.thread.platform)
        why: UnreadReason | None = None
        if kind == "other":
            why = "other_kind"
        elif full:
            why = "too_many"
        elif attachment.size > MOST_BYTES:
            why = "too_large"
        elif platform is None:
            why = "not_handed_out"
        if why is not None or platform is None:
            return UnreadAttachment(attachment.name, why or "not_handed_out")
        return await self._fetched(platform, message, attachment, pdf=kind == "pdf")

    async def _fetched(
        self, platform: Fetches, message: Message, attachment: Attachment, *, pdf: bool
    ) -> str | UnreadAttachment:
        try:
            content = await platform.fetch(attachment, most=MOST_BYTES)
            text = await self._read_pdf(content) if pdf else decode_text(content)
        except DeliveryFailed as error:
            _log.warning(
                "attachment_not_fetched", interaction_id=message.interaction_id, why=str(error)
            )
            return UnreadAttachment(attachment.name, "not_handed_out")
        except NotText:
            return UnreadAttachment(attachment.name, "pdf_without_text" if pdf else "not_text")
        return text if text.strip() else UnreadAttachment(attachment.name, "empty")
