"""List the spaces and pages of the embedded index without their text; call inside a snapshot."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rag.index.embedded.schema import encode_numbers
from rag.types import PageSummary, Principal, SpaceSummary, decode_readers, may_read

_SPACES = """
SELECT scopes.space, count(*),
    sum((SELECT count(*) FROM places WHERE places.page = pages.number))
FROM pages JOIN scopes ON scopes.id = pages.scope
WHERE pages.scope IN (SELECT value FROM json_each(?))
GROUP BY scopes.space ORDER BY scopes.space
"""

_SOURCE = """
SELECT chunks.source_type FROM pages JOIN places ON places.page = pages.number
JOIN chunks ON chunks.number = places.chunk
WHERE pages.tenant = ? AND pages.space = ? LIMIT 1
"""

_PAGES = """
SELECT pages.space, pages.id, coalesce(chunks.title, pages.id) AS title,
    coalesce(chunks.url, ''), scopes.readers,
    (SELECT count(*) FROM places WHERE places.page = pages.number),
    coalesce(chunks.source_type, ''), chunks.updated_at
FROM pages JOIN scopes ON scopes.id = pages.scope
LEFT JOIN chunks ON chunks.number =
    (SELECT min(places.chunk) FROM places WHERE places.page = pages.number)
WHERE pages.tenant = ? AND pages.space = ?
    AND pages.scope IN (SELECT value FROM json_each(?))
"""

_AT = """
SELECT chunks.url, pages.space, pages.id FROM chunks
JOIN places ON places.chunk = chunks.number JOIN pages ON pages.number = places.page
WHERE chunks.url IN (SELECT value FROM json_each(?1)) AND pages.tenant = ?2
    AND pages.scope IN (SELECT value FROM json_each(?3))
GROUP BY pages.number ORDER BY pages.number
"""
"""Scans all chunks, some 100 ms for 100,000; used only for manual look-ups."""

_MOST_WORDS = 10


class Catalogue:
    """Lists spaces and pages over one connection; not to be shared between threads."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def spaces(self, tenant: str, readers: frozenset[Principal] | None) -> tuple[SpaceSummary, ...]:
        rows = self._connection.execute(_SPACES, (self._seen(tenant, None, readers),)).fetchall()
        return tuple(
            SpaceSummary(space, pages, chunks, self._source(tenant, space))
            for space, pages, chunks in rows
        )

    def pages(
        self,
        tenant: str,
        space: str,
        readers: frozenset[Principal] | None,
        *,
        words: str,
        after: str,
        limit: int,
    ) -> tuple[PageSummary, ...]:
        parts = words.replace("\0", " ").split()[:_MOST_WORDS]
        found = " AND (pages.id LIKE ? ESCAPE '!' OR title LIKE ? ESCAPE '!')" * len(parts)
        patterns = [pattern for part in parts for pattern in [_containing(part)] * 2]
        rows = self._connection.execute(
            f"{_PAGES} AND pages.id > ?{found} ORDER BY pages.id LIMIT ?",
            (tenant, space, self._seen(tenant, space, readers), after, *patterns, limit),
        )
        return tuple(_summary(row) for row in rows)

    def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        row = self._connection.execute(
            f"{_PAGES} AND pages.id = ?",
            (tenant, space, self._seen(tenant, space, readers), page_id),
        ).fetchone()
        return None if row is None else _summary(row)

    def page_at(
        self, tenant: str, urls: Sequence[str], readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        seen = self._seen(tenant, None, readers)
        rows = self._connection.execute(_AT, (json.dumps(list(urls)), tenant, seen)).fetchall()
        if not rows:
            return None
        _, space, page_id = min(rows, key=lambda row: urls.index(row[0]))
        return self.page(tenant, space, page_id, readers)

    def _source(self, tenant: str, space: str) -> str:
        row = self._connection.execute(_SOURCE, (tenant, space)).fetchone()
        return "" if row is None else str(row[0])

    def _seen(self, tenant: str, space: str | None, readers: frozenset[Principal] | None) -> str:
        """Return the ids of visible scopes, as one parameter."""
        rows = self._connection.execute(
            "SELECT id, space, readers FROM scopes WHERE tenant = ?", (tenant,)
        )
        return encode_numbers(
            number
            for number, owner, written in rows
            if space in {None, owner}
            and (readers is None or may_read(decode_readers(written), readers))
        )


def _summary(row: Sequence[Any]) -> PageSummary:
    return PageSummary(
        space=row[0],
        id=row[1],
        title=row[2],
        url=row[3],
        readers=decode_readers(row[4]),
        chunks=row[5],
        source_type=row[6],
        updated_at=datetime.fromisoformat(row[7]) if row[7] else None,
    )


def _containing(part: str) -> str:
    """Return a LIKE pattern for a text that contains ``part``, with its characters escaped."""
    for special in "!%_":
        part = part.replace(special, f"!{special}")
    return f"%{part}%"
