"""One PDF read in a process of its own."""

from __future__ import annotations

import pytest

from ingestion.documents.pdf_in_subprocess import text_of_pdf
from ingestion.errors import PageUnreadable
from tests.ingestion.fakes import pdf


async def test_the_text_of_a_pdf_comes_back() -> None:
    text = await text_of_pdf(pdf(("Error 809", "The VPN port is blocked.")))

    assert "Error 809" in text
    assert "The VPN port is blocked." in text


@pytest.mark.parametrize("content", [b"", b"no pdf", b"%PDF-1.4\nbroken"])
async def test_what_has_no_text_is_unreadable(content: bytes) -> None:
    with pytest.raises(PageUnreadable):
        await text_of_pdf(content)


async def test_what_takes_too_long_is_given_up() -> None:
    with pytest.raises(PageUnreadable, match="too long"):
        await text_of_pdf(pdf(("Error 809",)), seconds=0.001)
