"""Read a question's form and its files, of the web chat and of the REST API.

The files are bounded as on every platform. Of a file that is not read anyway only the name, kind
and size go on: they tell the asker why.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from bot.answering.attachments import MOST_BYTES, MOST_FILES, attachment_kind
from bot.domain.json_codec import without_surrogates
from bot.domain.markdown import clip
from bot.domain.messages import Attachment, sent_along
from bot.domain.texts import tr
from bot.web.forms import ReceivedFile, UploadLimits, read_form, receive_form
from bot.web.problems import problem

MAX_QUESTION = 4000

FILE_LIMITS = UploadLimits(
    MOST_FILES, MOST_BYTES, cure=tr("Send a part of it, such as the lines with the error.")
)
_LONGEST_NAME = 200
_LONGEST_KIND = 100


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """The question and its files, and the form's other fields by name."""

    question: str
    files: tuple[Attachment, ...]
    fields: Mapping[str, str]


async def read_question_form(request: web.Request, data_dir: Path) -> QuestionForm:
    """Read the form of a question. Raises Problem."""
    if request.content_type == "multipart/form-data":
        fields, files = await receive_files(request, data_dir)
    else:
        fields = {name: str(value) for name, value in (await read_form(request)).items()}
        files = ()
    question = typed_text(fields.get("question"), MAX_QUESTION)
    if not question and not files:
        raise problem(422, tr("Type a question first."))
    return QuestionForm(question, files, fields)


async def receive_files(
    request: web.Request, data_dir: Path
) -> tuple[Mapping[str, str], tuple[Attachment, ...]]:
    """Read a form with files; return its text fields by name, and the files to send along.

    Raises Problem (400, 413, 415, 422), StoreUnavailable.
    """
    async with receive_form(request, data_dir, FILE_LIMITS) as form:
        files = [await asyncio.to_thread(_attachment, each) for each in form.files]
        return form.texts, tuple(files)


def _attachment(file: ReceivedFile) -> Attachment:
    content = file.path.read_bytes()
    kind = clip(_printable(file.media_type), _LONGEST_KIND)
    told = Attachment(_file_name(file.name), kind, len(content), "")
    if attachment_kind(told) == "other":
        return told
    return Attachment(told.name, kind, len(content), sent_along(content))


def _file_name(given: str) -> str:
    """Return the last part of a file's name, on one line; the name is untrusted."""
    name = _printable(given.replace("\\", "/").rpartition("/")[2])
    if len(name) <= _LONGEST_NAME:
        return name
    # The end tells the kind of the file.
    return name[-_LONGEST_NAME:]


def _printable(text: str) -> str:
    """Return a text without control characters, and without those that turn its direction."""
    kept = (each for each in without_surrogates(text) if unicodedata.category(each)[0] != "C")
    return " ".join("".join(kept).split())


def typed_text(given: object, longest: int) -> str:
    """Return the text of a form's field. Raises Problem (422) if it is too long."""
    text = str(given or "").replace("\r\n", "\n").strip()
    if len(text) > longest:
        raise problem(
            422,
            tr(
                "The text has {length} characters; the maximum is {most}.",
                length=len(text),
                most=longest,
            ),
        )
    return text
