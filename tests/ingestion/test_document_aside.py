from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.documents.convert import convert
from ingestion.documents.convert_in_subprocess import MOST_TEXT, convert_in_subprocess
from ingestion.errors import PageUnreadable
from tests.ingestion.fakes import pdf, word


async def test_a_document_is_the_one_that_converting_gives(tmp_path: Path) -> None:
    content = word(("Title", "T"), ("Heading 1", "A"), ("Normal", "b"), ("Quote", "c"))
    (tmp_path / "file").write_bytes(content)

    assert await convert_in_subprocess(tmp_path / "file", ".docx") == convert("x.docx", content)


async def test_markdown_keeps_every_kind_of_block(tmp_path: Path) -> None:
    content = b"# A\n\nb\n\n> c\n\n- d\n\n```sh\ne\n```\n\n| f | g |\n|---|---|\n| h | i |\n"
    (tmp_path / "file").write_bytes(content)

    assert await convert_in_subprocess(tmp_path / "file", ".md") == convert("x.md", content)


async def test_a_reason_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"%PDF-1.4 nonsense")

    with pytest.raises(PageUnreadable, match="broken PDF"):
        await convert_in_subprocess(tmp_path / "file", ".pdf")


async def test_what_takes_too_long_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(pdf(["words"]))

    with pytest.raises(PageUnreadable, match="too much time"):
        await convert_in_subprocess(tmp_path / "file", ".pdf", seconds=0.0)


async def test_a_small_file_that_holds_too_much_text_is_left_out(tmp_path: Path) -> None:
    paragraph = ("Normal", "All work and no play. " * 200_000)
    content = word(*[paragraph] * 5)
    (tmp_path / "file").write_bytes(content)

    assert len(content) < MOST_TEXT / 50
    with pytest.raises(PageUnreadable, match="holds more than 16 MB of text; split it"):
        await convert_in_subprocess(tmp_path / "file", ".docx")
