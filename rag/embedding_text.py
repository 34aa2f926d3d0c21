"""What an embedder is shown of a chunk; ingestion counts tokens of the same text."""

from __future__ import annotations

import re

from rag.types import Chunk

_LONG_URL = re.compile(r"https?://[^\s<>()\[\]\"']{33,}")


def embedding_text(chunk: Chunk) -> str:
    """Return the breadcrumb and the text, long URLs left out.

    A URL of more than about 40 characters costs dozens of tokens and says next to nothing.
    """
    breadcrumb = " > ".join(chunk.breadcrumb)
    text = _LONG_URL.sub("", chunk.text)
    return f"{breadcrumb}\n{text}" if breadcrumb else text
