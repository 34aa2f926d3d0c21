"""Files that come with questions, of the web chat and of the REST API."""

from __future__ import annotations

from io import BytesIO

from aiohttp import FormData
from sqlalchemy import select

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.attachments import AttachmentReader
from bot.domain.messages import Policy
from bot.store.database import Store
from bot.store.question_files import KEPT_HERE, QuestionFileRow
from tests.fakes.bot_ports import PdfOfText

File = tuple[str, bytes, str]
"""Its name, content and media type."""

LOG = b"10:00 ok\n10:01 ERROR 809 canary\n"
VPN_LOG: File = ("vpn.log", LOG, "text/plain")
PICTURE: File = ("shot.png", b"\x89PNG", "image/png")


def form_with(*files: File, **fields: str) -> FormData:
    """Return a form of parts with fields and files."""
    filled = FormData(default_to_multipart=True)
    for name, value in fields.items():
        filled.add_field(name, value)
    for name, content, media_type in files:
        filled.add_field("file", BytesIO(content), filename=name, content_type=media_type)
    return filled


async def kept_files(store: Store) -> list[int]:
    """Return the positions of the files that the record has."""
    return list(await store.transactions.scalars(select(QuestionFileRow.position)))


def admission_with_files(store: Store) -> Admission:
    """Return an admission that reads the files of the record."""
    return Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        store.policies,
        reading=AttachmentReader(dict.fromkeys(KEPT_HERE, store.files), PdfOfText().text),
    )
