"""Chunks and readers as they are kept in the tables of the embedded index, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from rag.types import Chunk, Principal, Readers

SEPARATOR = "\x1f"
"""Between the parts of a stored breadcrumb; no word to the full-text search."""

COLUMNS = (
    "chunks.id, pages.tenant, pages.space, pages.id, chunks.ordinal, chunks.title, "
    "chunks.section, chunks.breadcrumb, chunks.text, chunks.url, scopes.readers, "
    "chunks.source_type, chunks.source_id, chunks.document_page, chunks.updated_at, chunks.labels, "
    "chunks.updated_by"
)
"""What chunk_of reads, in its order."""

TABLES = (
    "places JOIN chunks ON chunks.number = places.chunk "
    "JOIN pages ON pages.number = places.page JOIN scopes ON scopes.id = places.scope"
)


def chunk_row(chunk: Chunk) -> tuple[str | int | None, ...]:
    """Return a chunk's own columns; its place is kept apart."""
    return (
        chunk.id,
        chunk.ordinal,
        chunk.title,
        chunk.section,
        SEPARATOR.join(chunk.breadcrumb),
        chunk.text,
        chunk.url,
        chunk.source_type,
        chunk.source_id,
        chunk.document_page,
        chunk.updated_at.isoformat() if chunk.updated_at else None,
        json.dumps(chunk.labels),
        chunk.updated_by,
    )


def chunk_of(row: Sequence[Any]) -> Chunk:
    """Return the chunk of a row of COLUMNS."""
    return Chunk(
        id=row[0],
        tenant=row[1],
        space=row[2],
        page_id=row[3],
        ordinal=row[4],
        title=row[5],
        section=row[6],
        breadcrumb=tuple(row[7].split(SEPARATOR)) if row[7] else (),
        text=row[8],
        url=row[9],
        readers=readers_of(row[10]),
        source_type=row[11],
        source_id=row[12],
        document_page=row[13],
        updated_at=datetime.fromisoformat(row[14]) if row[14] else None,
        labels=tuple(json.loads(row[15])),
        updated_by=row[16],
    )


def readers_text(readers: Readers) -> str:
    """Return the readers in one spelling, whatever order their sets came in."""
    return json.dumps(sorted(sorted(names) for names in set(readers)))


@lru_cache(maxsize=1024)
def readers_of(text: str) -> Readers:
    """Return the readers that readers_text wrote."""
    return tuple(frozenset(Principal(name) for name in names) for names in json.loads(text))


def numbers_text(numbers: Iterable[int]) -> str:
    """Return numbers as SQLite's json_each takes them: any count, one parameter."""
    return json.dumps(list(numbers))
