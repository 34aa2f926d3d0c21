"""Whether a file is text, a PDF or something else, by what its platform and its name say; pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from bot.domain.types import Attachment

Kind = Literal["text", "pdf", "other"]

READ = "text, logs and PDF"
"""What is read, in words."""

_TEXT_ENDINGS = frozenset(
    """
    .bat .c .cc .cfg .cmd .conf .config .cpp .cs .css .csv .diff .dockerfile .env .err .eml .go .h
    .hpp .htm .html .ini .java .js .json .jsonl .jsx .kt .lua .log .markdown .md .ndjson .out
    .patch .php .pl .properties .ps1 .py .r .rb .reg .rs .rst .sh .sql .swift .tf .toml .trace .ts
    .tsv .tsx .txt .vbs .xml .yaml .yml
    """.split()
)
_TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in """
    ecmascript graphql javascript json ld+json ndjson sql toml typescript x-httpd-php
    x-javascript x-ndjson x-perl x-python x-ruby x-sh x-shellscript x-sql x-yaml xml yaml
    """.split()
)
_UNTOLD = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_PDF = "application/pdf"


def kind_of(attachment: Attachment) -> Kind:
    """Return what to read a file as; one of which nothing is told may be text."""
    told = attachment.media_type.partition(";")[0].strip().lower()
    ending = PurePosixPath(attachment.name.lower()).suffix
    if told == _PDF or (told in _UNTOLD and ending == ".pdf"):
        return "pdf"
    if told.startswith("text/") or told in _TEXT_TYPES or told.endswith(("+json", "+xml")):
        return "other" if told.startswith("image/") else "text"
    if ending in _TEXT_ENDINGS:
        return "text"
    return "text" if told in _UNTOLD and not ending else "other"
