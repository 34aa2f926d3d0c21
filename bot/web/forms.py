"""Read HTML forms once, before the handlers, and stream uploaded files to the disk.

A form that can't be read is a client error (400). Files are never whole in memory, and never larger
than allowed.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import BodyPartReader, ClientError, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from bot.domain.errors import StoreUnavailable
from bot.domain.texts import tr
from bot.web.problems import MAX_BODY, Problem, max_body_bytes, problem

_FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
_FORM_ERRORS = (
    ValueError,
    LookupError,
    AssertionError,
    RuntimeError,
    ClientError,
    HttpProcessingError,
)
"""The errors of aiohttp for a wrong boundary, part, character set or byte."""


@web.middleware
async def form_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Read a request's form, which aiohttp then caches. Raises Problem (400).

    Upload handlers read their own requests.
    """
    takes_files = max_body_bytes(request) > MAX_BODY
    if request.content_type in _FORM_TYPES and not takes_files:
        await read_form(request)
    return await handler(request)


async def read_form(request: web.Request) -> Mapping[str, object]:
    """Read a form without large files, of at most the usual size. Raises Problem (400)."""
    try:
        return await request.post()
    except _FORM_ERRORS as error:
        raise problem(
            400, tr("The form can't be read."), cure=tr("Send it again, in UTF-8.")
        ) from error


FORM_OVERHEAD_BYTES = 1024**2
"""Bytes of a form besides its files."""

_MEGABYTE = 1024**2
_CHUNK_BYTES = 256 * 1024
_MAX_FIELD_BYTES = 64 * 1024
_MAX_PARTS = 50
_INCOMING = Path("documents") / ".incoming"
_SEND_A_FORM = tr("Send a form (multipart/form-data) with the document in the field 'file'.")


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """An uploaded file on the disk; it is removed after the request unless it was moved."""

    name: str
    path: Path
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class ReceivedForm:
    """A form: its text fields by name, its files in order."""

    texts: dict[str, str] = field(default_factory=dict)
    files: list[ReceivedFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """The maximum number of files in a form, and of bytes in each.

    ``cure`` is what to do with a larger one.
    """

    files: int
    bytes: int
    cure: str = tr("Split it, or have MAX_UPLOAD_MB raised.")

    @property
    def megabytes(self) -> str:
        """The maximum size of a file, as people read it."""
        binary = self.bytes % _MEGABYTE == 0
        return f"{self.bytes / (_MEGABYTE if binary else 1e6):g}"

    @property
    def body(self) -> int:
        """The maximum number of bytes of the whole request."""
        return self.files * self.bytes + FORM_OVERHEAD_BYTES


def upload_limits(max_upload_mb: int, files: int = 1) -> UploadLimits:
    """Return the limits that MAX_UPLOAD_MB sets."""
    return UploadLimits(files, max_upload_mb * _MEGABYTE)


@asynccontextmanager
async def receive_form(
    request: web.Request, data_dir: Path, bounds: UploadLimits
) -> AsyncIterator[ReceivedForm]:
    """Read a request's form. Raises Problem (400, 413, 415, 422), StoreUnavailable."""
    if request.content_type != "multipart/form-data":
        raise problem(415, _SEND_A_FORM)
    folder = data_dir / _INCOMING
    form = ReceivedForm()
    try:
        async with _writing_to(folder):
            try:
                await _read_parts(await request.multipart(), form, folder, bounds)
            except _FORM_ERRORS as error:
                raise problem(400, tr("The form can't be read."), cure=_SEND_A_FORM) from error
        yield form
    finally:
        for file in form.files:
            await asyncio.to_thread(file.path.unlink, missing_ok=True)


@asynccontextmanager
async def receive_file(
    request: web.Request, name: str, data_dir: Path, bounds: UploadLimits
) -> AsyncIterator[ReceivedFile]:
    """Read a request's whole body as one file. Raises Problem (413), StoreUnavailable."""
    folder = data_dir / _INCOMING
    file = ReceivedFile(name, folder / uuid.uuid4().hex)
    try:
        async with _writing_to(folder):
            await _save_pieces(request.content.iter_chunked(_CHUNK_BYTES), file, bounds)
        yield file
    finally:
        await asyncio.to_thread(file.path.unlink, missing_ok=True)


@asynccontextmanager
async def _writing_to(folder: Path) -> AsyncIterator[None]:
    """Create a folder, and translate the errors of the disk while a block writes to it."""
    try:
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        yield
    except ConnectionError:
        raise
    except OSError as error:
        raise StoreUnavailable(
            f"{str(folder)!r} can't be written to ({error.strerror}). Look at the disk's free "
            "space and at the permissions of the data directory."
        ) from error


async def _read_parts(
    parts: MultipartReader, form: ReceivedForm, folder: Path, bounds: UploadLimits
) -> None:
    count = 0
    while (part := await parts.next()) is not None:
        count += 1
        if not isinstance(part, BodyPartReader) or count > _MAX_PARTS:
            raise problem(400, tr("The form has unexpected parts."), cure=_SEND_A_FORM)
        if part.filename is None:
            form.texts[part.name or ""] = await _field_text(part)
        elif part.filename:
            if len(form.files) == bounds.files:
                raise problem(
                    422,
                    tr("That is more than {most} files at once.", most=bounds.files),
                    cure=tr("Send fewer."),
                )
            told = part.headers.get("Content-Type", "")
            file = ReceivedFile(part.filename, folder / uuid.uuid4().hex, told)
            form.files.append(file)
            await _save_pieces(_pieces(part), file, bounds)


async def _field_text(part: BodyPartReader) -> str:
    text = bytearray()
    while piece := await part.read_chunk(_CHUNK_BYTES):
        text += piece
        if len(text) > _MAX_FIELD_BYTES:
            raise problem(
                422,
                tr("The field {name} is too long.", name=repr(part.name)),
                cure=tr("Shorten it."),
            )
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise problem(
            422, tr("The field {name} is not UTF-8.", name=repr(part.name)), cure=tr("Send UTF-8.")
        ) from error


async def _pieces(part: BodyPartReader) -> AsyncIterator[bytes]:
    while piece := await part.read_chunk(_CHUNK_BYTES):
        async for decoded in part.decode_iter(piece):
            yield decoded


async def _save_pieces(
    pieces: AsyncIterable[bytes], file: ReceivedFile, bounds: UploadLimits
) -> None:
    size = 0
    with await asyncio.to_thread(file.path.open, "wb") as stream:
        async for piece in pieces:
            size += len(piece)
            if size > bounds.bytes:
                raise _too_large(file.name, bounds)
            await asyncio.to_thread(stream.write, piece)


def _too_large(name: str, bounds: UploadLimits) -> Problem:
    detail = tr("{name} is larger than {most} MB.", name=repr(name[:100]), most=bounds.megabytes)
    return problem(413, detail, cure=bounds.cure)
