"""Forms with files, from the wire to the disk: never whole in memory, never more than allowed."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import BodyPartReader, ClientError, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from bot.domain.errors import StoreUnavailable
from bot.doors.problems import Problem, problem

FORM_ROOM = 1024**2
"""Bytes that a form may have besides its files."""

_MEGABYTE = 1024**2
_PIECE = 256 * 1024
_LONGEST_FIELD = 64 * 1024
_MOST_PARTS = 50
_INCOMING = Path("documents") / ".incoming"
_NO_FORM = "Send a form (multipart/form-data) with the document in the field 'file'."


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A file of a form, on the disk; it is removed after the request unless it was moved."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class ReceivedForm:
    """A form: its texts by name, its files in order."""

    texts: dict[str, str] = field(default_factory=dict)
    files: list[ReceivedFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many files a form may have, and how large (bytes) each may be."""

    files: int
    bytes: int

    @property
    def body(self) -> int:
        """Bytes that the whole request may have."""
        return self.files * self.bytes + FORM_ROOM


def upload_bounds(max_upload_mb: int, files: int = 1) -> Bounds:
    """Return the bounds that MAX_UPLOAD_MB sets."""
    return Bounds(files, max_upload_mb * _MEGABYTE)


@asynccontextmanager
async def received(
    request: web.Request, data_dir: Path, bounds: Bounds
) -> AsyncIterator[ReceivedForm]:
    """Read the form of a request. Raises Problem (400, 413, 415, 422), StoreUnavailable."""
    if request.content_type != "multipart/form-data":
        raise problem(415, _NO_FORM)
    folder = data_dir / _INCOMING
    form = ReceivedForm()
    try:
        try:
            await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
            await _read(await request.multipart(), form, folder, bounds)
        except (ValueError, AssertionError, LookupError, RuntimeError) as error:
            raise problem(400, "The form can't be read.", cure=_NO_FORM) from error
        except (ClientError, HttpProcessingError) as error:
            raise problem(400, "The form can't be read.", cure=_NO_FORM) from error
        except ConnectionError:
            raise
        except OSError as error:
            raise StoreUnavailable(
                f"{str(folder)!r} can't be written to ({error.strerror}). Look at the disk's free "
                "space and at the permissions of the data directory."
            ) from error
        yield form
    finally:
        for file in form.files:
            await asyncio.to_thread(file.path.unlink, missing_ok=True)


async def _read(parts: MultipartReader, form: ReceivedForm, folder: Path, bounds: Bounds) -> None:
    count = 0
    while (part := await parts.next()) is not None:
        count += 1
        if not isinstance(part, BodyPartReader) or count > _MOST_PARTS:
            raise problem(400, "The form has parts that are not taken.", cure=_NO_FORM)
        if part.filename is None:
            form.texts[part.name or ""] = await _text(part)
        elif part.filename:
            if len(form.files) == bounds.files:
                raise problem(422, f"That is more than {bounds.files} at once.", cure="Send fewer.")
            file = ReceivedFile(part.filename, folder / uuid.uuid4().hex)
            form.files.append(file)
            await _save(part, file, bounds.bytes)


async def _text(part: BodyPartReader) -> str:
    text = bytearray()
    while piece := await part.read_chunk(_PIECE):
        text += piece
        if len(text) > _LONGEST_FIELD:
            raise problem(422, f"The field {part.name!r} is too long.", cure="Send less.")
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise problem(422, f"The field {part.name!r} is not UTF-8.", cure="Send UTF-8.") from error


async def _save(part: BodyPartReader, file: ReceivedFile, most: int) -> None:
    size = 0
    with await asyncio.to_thread(file.path.open, "wb") as stream:
        while piece := await part.read_chunk(_PIECE):
            async for decoded in part.decode_iter(piece):
                size += len(decoded)
                if size > most:
                    raise _too_large(file.name, most)
                await asyncio.to_thread(stream.write, decoded)


def _too_large(name: str, most: int) -> Problem:
    return problem(
        413,
        f"{name[:100]!r} is larger than {most // _MEGABYTE} MB.",
        cure="Split it, or have MAX_UPLOAD_MB raised.",
    )
