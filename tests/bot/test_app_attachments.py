"""PDFs that come with questions, read by ingestion's reader."""

from __future__ import annotations

import pytest

from bot.answering.attachments import AttachmentReader, NotText
from bot.app.documents import SubprocessPdfReader
from tests.bot.attachments.files import Drive, with_files
from tests.ingestion.fakes import pdf


async def test_a_pdf_that_comes_with_a_question_is_read() -> None:
    drive = Drive()
    file = drive.add("handbook.pdf", pdf(("Error 809", "The port is blocked.")), "application/pdf")

    got = await AttachmentReader({"slack": drive}, SubprocessPdfReader()).read(with_files(file))

    assert "The port is blocked." in got.attached[0].text
    assert got.remarks == ()


async def test_one_without_text_is_told_as_such() -> None:
    with pytest.raises(NotText):
        await SubprocessPdfReader().text(b"no pdf")
