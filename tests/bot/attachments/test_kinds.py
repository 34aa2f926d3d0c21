"""What a file is read as."""

from __future__ import annotations

import pytest

from bot.answering.attachments import attachment_kind
from bot.domain.messages import Attachment


@pytest.mark.parametrize(
    ("name", "media_type", "kind"),
    [
        ("notes.txt", "text/plain", "text"),
        ("page.md", "text/markdown; charset=utf-8", "text"),
        ("rows.csv", "text/csv", "text"),
        ("config.yaml", "application/x-yaml", "text"),
        ("answer.json", "application/json", "text"),
        ("answer", "application/problem+json", "text"),
        ("vpn.log", "application/octet-stream", "text"),
        ("main.rs", "", "text"),
        ("Main.JAVA", "application/binary", "text"),
        ("syslog", "application/octet-stream", "text"),
        ("Handbook.PDF", "application/octet-stream", "pdf"),
        ("handbook", "application/pdf", "pdf"),
        ("screenshot.png", "image/png", "other"),
        ("drawing.svg", "image/svg+xml", "other"),
        ("letter.docx", "application/vnd.openxmlformats", "other"),
        ("setup.exe", "application/octet-stream", "other"),
        ("clip.mp4", "video/mp4", "other"),
        ("logs.zip", "application/zip", "other"),
    ],
)
def test_a_file_is_read_as_what_its_platform_or_its_name_says(
    name: str, media_type: str, kind: str
) -> None:
    assert attachment_kind(Attachment(name, media_type, 1, "")) == kind
