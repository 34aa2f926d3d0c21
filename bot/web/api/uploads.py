"""Receive a document in any form that the API takes: a form, JSON, or the bytes of a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, TypeVar

from aiohttp import web
from pydantic import ConfigDict, Field, StringConstraints

from bot.web.api.part_schemas import Schema
from bot.web.api.requests import invalid_field, parse_json, query_of
from bot.web.api.schemas import Sent
from bot.web.forms import ReceivedFile, UploadLimits, receive_file, receive_form
from bot.web.problems import problem
from ingestion.documents.front_matter import join_front_matter
from rag.types import EVERYONE

Line = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True,
        min_length=1,
        max_length=256,
        pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]+$",
    ),
]
"""A text on one line, as front matter can hold it."""

ReaderName = Annotated[
    str,
    StringConstraints(max_length=300, pattern=r"""^(everyone|(user|group):[^\s,\[\]{}"']+)$"""),
]
Format = Literal["markdown", "text", "html"]

_ENDINGS: Mapping[Format, tuple[str, ...]] = {
    "markdown": (".md", ".mdx"),
    "text": (".txt",),
    "html": (".html", ".htm"),
}
"""The extensions of each format; the first is added to a name that has none of them."""

_FORM_FIELDS = {"readers"}
_KNOWN_FIELDS = "Leave it out. Known are file and readers."


class UploadForm(Schema):
    """A form with a document: Markdown, text, HTML, PDF or Word (.docx), told by its content."""

    model_config = ConfigDict(
        json_schema_extra={
            "properties": {
                "file": {
                    "type": "string",
                    "format": "binary",
                    "description": "The document; its file name is its id. At most MAX_UPLOAD_MB.",
                },
                "readers": {
                    "type": "string",
                    "default": "everyone",
                    "description": "everyone, or group:NAME,user:ID of whom one must match.",
                },
            },
            "required": ["file"],
            "additionalProperties": False,
        }
    )


class DocumentContent(Sent):
    """A document as JSON. What it was before is replaced as a whole."""

    title: Line = Field(description="the title, 1 to 256 characters on one line")
    content: Annotated[str, StringConstraints(min_length=1)] = Field(
        description="the text of the document, at most MAX_UPLOAD_MB, without front matter"
    )
    format: Format = Field("markdown", description="markdown, text or html")
    labels: list[Line] = Field(
        default_factory=list, max_length=50, description="at most 50 labels of a line each"
    )
    readers: Annotated[list[ReaderName], Field(min_length=1, max_length=1000)] = Field(
        default_factory=lambda: [str(EVERYONE)],
        description="1 to 1000 of everyone, group:NAME and user:ID, of whom one must match",
    )


class NewDocument(DocumentContent):
    """A document as JSON, with its name."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        description="the document's id, such as leave.md; it gets the extension of the format"
    )


class UploadQuery(Schema):
    """Who may read a file that is sent as it is."""

    model_config = ConfigDict(extra="forbid")

    readers: Annotated[str, StringConstraints(min_length=1, max_length=64_000)] | None = Field(
        None, description="everyone (the default), or group:NAME,user:ID of whom one must match"
    )


@dataclass(frozen=True, slots=True)
class Upload:
    """A received document; ``exact``: it is kept under this name or not at all.

    ``declared``: its sender said which format its text is in, and the name has that extension.
    """

    file: ReceivedFile
    readers: str
    exact: bool
    declared: bool = False


@asynccontextmanager
async def receive_new(
    request: web.Request, data_dir: Path, bounds: UploadLimits
) -> AsyncIterator[Upload]:
    """Receive a document that brings its name: a form or JSON.

    Raises Problem (400, 413, 415, 422), StoreUnavailable, DocumentRefused.
    """
    if request.content_type == "application/json":
        async with receive_file(request, "", data_dir, bounds) as body:
            sent = await asyncio.to_thread(_read_json, body.path, NewDocument)
            name = _with_ending(sent.name, sent.format)
            yield await _written(request, sent, ReceivedFile(name, body.path))
        return
    _require_no_readers_in_address(request, "Send it as the field 'readers'.")
    async with receive_form(request, data_dir, bounds) as form:
        unknown = sorted(form.texts.keys() - _FORM_FIELDS)
        if unknown:
            raise invalid_field(unknown[0], form.texts[unknown[0]], "is not known", _KNOWN_FIELDS)
        if not form.files:
            raise invalid_field(
                "file", None, "is missing", "Send the document as the field 'file'."
            )
        yield Upload(form.files[0], form.texts.get("readers", EVERYONE), exact=False)


@asynccontextmanager
async def receive_named(
    request: web.Request, name: str, data_dir: Path, bounds: UploadLimits
) -> AsyncIterator[Upload]:
    """Receive a document whose name is in the address: JSON, or the bytes of a file.

    Raises Problem (400, 413, 415, 422), StoreUnavailable, DocumentRefused.
    """
    _require_bytes_or_json(request)
    readers = query_of(request, UploadQuery).readers
    async with receive_file(request, name, data_dir, bounds) as file:
        if request.content_type != "application/json":
            yield Upload(file, readers or EVERYONE, exact=True)
            return
        sent = await asyncio.to_thread(_read_json, file.path, DocumentContent)
        fitting = _with_ending(name, sent.format)
        if fitting != name:
            wrong = f"is not what the name {name[:100]!r} says"
            raise invalid_field("format", sent.format, wrong, f"Name it {fitting[:100]!r}.")
        yield await _written(request, sent, file)


def _require_bytes_or_json(request: web.Request) -> None:
    """Refuse a body that is declared as neither. Raises Problem (415).

    Programs declare JSON as a form unless told otherwise, or by one of its further names; stored as
    a file, it would be open to everyone, whatever its readers say.
    """
    sent = request.content_type
    form = sent.startswith("multipart/") or sent == "application/x-www-form-urlencoded"
    if form or ("json" in sent and sent != "application/json"):
        raise problem(
            415,
            f"A body declared as {sent[:100]} is not taken here.",
            cure="Declare JSON as `Content-Type: application/json`, and a file as "
            "`application/octet-stream`; a form is for POST.",
        )


async def _written(request: web.Request, sent: DocumentContent, file: ReceivedFile) -> Upload:
    """Write a document that was sent as JSON to its file, with front matter."""
    _require_no_readers_in_address(request, "Send it in the JSON.")
    await asyncio.to_thread(_write_with_front_matter, file.path, sent)
    return Upload(file, ",".join(sent.readers), exact=True, declared=True)


Content = TypeVar("Content", bound=DocumentContent)


def _read_json(path: Path, shape: type[Content]) -> Content:
    """Read and validate a file of JSON, of which a large one takes long. Raises Problem."""
    return parse_json(path.read_bytes(), shape)


def _write_with_front_matter(path: Path, sent: DocumentContent) -> None:
    # Never longer than the JSON that it came in, so the limit of a file holds.
    text = join_front_matter(sent.content, title=sent.title, labels=sent.labels)
    path.write_bytes(text.encode())


def _require_no_readers_in_address(request: web.Request, cure: str) -> None:
    """Refuse readers in the address of a body that has its own. Raises Problem (422).

    Ignored, they would leave a document open to everyone that was meant for some.
    """
    if "readers" in request.query:
        raise invalid_field("readers", request.query["readers"], "is no parameter here", cure)


def _with_ending(name: str, written: Format) -> str:
    endings = _ENDINGS[written]
    fits = PurePosixPath(name).suffix.lower() in endings
    return name if fits else f"{name}{endings[0]}"
