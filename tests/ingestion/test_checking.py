from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from ingestion.documents.check_in_subprocess import DocumentChecker
from ingestion.errors import DocumentRefused
from tests.ingestion.fakes import pdf, word

PDF, TEXT = pdf(["Some text on a page"]), b"Some text"


def bomb() -> bytes:
    """A Word document of a few hundred kilobytes that unpacks to 300 MB."""
    stream = io.BytesIO(word(("Normal", "Text")))
    with (
        zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/media/zeros.bin", "w") as member,
    ):
        for _ in range(300):
            member.write(bytes(1024**2))
    return stream.getvalue()


async def check(tmp_path: Path, content: bytes, kind: str, **options: float) -> None:
    path = tmp_path / "incoming"
    path.write_bytes(content)
    await DocumentChecker(**options).check(path, kind, "x")


@pytest.mark.parametrize(("content", "kind"), [(PDF, ".pdf"), (TEXT, ".md")])
async def test_what_can_be_read_passes(tmp_path: Path, content: bytes, kind: str) -> None:
    await check(tmp_path, content, kind)


@pytest.mark.parametrize(
    ("content", "kind", "why"),
    [
        (b"%PDF-1.4 broken", ".pdf", "'x' is a broken PDF"),
        (PDF.replace(b"Some text on a page", b""), ".pdf", "no text"),
        (b"---\ntitle: only\n---\n", ".md", "holds no text"),
        (bomb(), ".docx", "more than 200 MB"),
    ],
    ids=["broken", "pictures", "empty", "bomb"],
)
async def test_what_can_not_is_refused(tmp_path: Path, content: bytes, kind: str, why: str) -> None:
    with pytest.raises(DocumentRefused, match=why):
        await check(tmp_path, content, kind)


async def test_what_takes_too_long_is_refused_and_ended(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match="too much time"):
        await check(tmp_path, TEXT, ".txt", seconds=0.001)
