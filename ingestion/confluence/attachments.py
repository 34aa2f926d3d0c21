"""Files on pages: which are read, and as what they are offered. Pure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from ingestion.confluence.offers import Offer
from ingestion.confluence.types import WikiAttachment
from ingestion.confluence.versions import attachment_version
from ingestion.types import Finding, SourcePage

TABLES = frozenset({".csv", ".tsv"})
CODE = {".json": "json", ".log": "", ".yaml": "yaml", ".yml": "yaml", ".xml": "xml"}
_ENDINGS = frozenset(
    {".pdf", ".docx", ".md", ".markdown", ".mdx", ".txt", ".text", ".html", ".htm", *TABLES, *CODE}
)
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_MEDIA_TYPES = frozenset({"application/pdf", _WORD, "application/json", "text/plain"})
_MB = 1024 * 1024


def ending(attachment: WikiAttachment) -> str:
    """Return the ending of an attachment's name, in lower case; its name means no more."""
    return PurePosixPath(attachment.name.replace("\\", "/")).suffix.lower()


def offered(attachment: WikiAttachment, offer: Offer, most: int) -> SourcePage | Finding:
    """Return what an attachment is offered as, below its page and for its page's readers.

    Args:
        attachment: the file.
        offer: its page's.
        most: bytes; a larger file is left out.
    """
    page_id = f"{offer.head.id}/{attachment.id}"
    reason = _why_not(attachment, most)
    if reason:
        return Finding(page_id, reason)
    ancestors = (*offer.page.ancestors, offer.head.title)
    return replace(
        offer.page,
        id=page_id,
        version=attachment_version(attachment, ancestors=ancestors, labels=offer.labels),
        url=attachment.url,
        ancestors=ancestors,
        old_text_readers=None,
    )


def _why_not(attachment: WikiAttachment, most: int) -> str:
    kind = ending(attachment)
    if kind not in _ENDINGS and attachment.media_type.partition(";")[0] not in _MEDIA_TYPES:
        shown = f"of type {kind}" if kind else "without an ending"
        return f"attachments {shown} are not read"
    if attachment.bytes > most:
        return (
            f"larger than {most // _MB} MB ({attachment.bytes / _MB:.1f} MB); raise "
            "CONFLUENCE_ATTACHMENT_MB to have it read"
        )
    return ""
