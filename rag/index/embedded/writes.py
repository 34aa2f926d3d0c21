"""Write pages, readers and removals to the embedded index; call each inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from rag.errors import IndexMismatch
from rag.index.embedded.schema import chunk_row, encode_numbers
from rag.types import Chunk, Fingerprint, Page, TokenSigns, Vectors, encode_readers

_REMEMBERED_REVISIONS = 10_000
"""A reader that has missed more changes than this reloads everything."""


def claim_fingerprint(connection: sqlite3.Connection, expected: Fingerprint | None) -> None:
    """Store which embedder's vectors the index holds, unless it has another's.

    Pages written without an embedder are compatible: they get vectors later. Raises IndexMismatch
    when another embedder came first.
    """
    if expected is None:
        return
    kept = connection.execute(
        "SELECT (SELECT value FROM facts WHERE name = 'embedder'), "
        "(SELECT value FROM facts WHERE name = 'dimensions'), EXISTS (SELECT 1 FROM pages)"
    ).fetchone()
    if (kept[0], kept[1]) == (expected.embedder, expected.dimensions):
        return
    if kept[2] and kept[0]:
        raise index_mismatch(Fingerprint(kept[0], kept[1], expected.schema), expected)
    connection.executemany(
        "UPDATE facts SET value = ? WHERE name = ?",
        [(expected.embedder, "embedder"), (expected.dimensions, "dimensions")],
    )


def index_mismatch(kept: Fingerprint, expected: Fingerprint) -> IndexMismatch:
    """Return the error for an index built with another embedder or schema."""
    return IndexMismatch(
        f"The index was built with {kept.embedder!r} ({kept.dimensions!r} "
        f"dimensions, schema {kept.schema!r}), but {expected.embedder!r} ({expected.dimensions!r} "
        f"dimensions, schema {expected.schema!r}) is configured. "
        "Move the index file away and run the ingestion again, or configure the former embedder."
    )


def upsert_page(
    connection: sqlite3.Connection,
    page: Page,
    chunks: Sequence[Chunk],
    vectors: Vectors | None,
    tokens: Sequence[TokenSigns] | None,
) -> None:
    """Replace a page and its chunks."""
    revision = next_revision(connection)
    _change_space(connection, page.tenant, page.space)
    scope = _scope(connection, page)
    number = _page(connection, page, scope)
    _remove_chunks(connection, [number], revision)
    for row, chunk in enumerate(chunks):
        inserted = _insert_chunk(connection, chunk, (number, scope, revision))
        if vectors is not None:
            stored = np.ascontiguousarray(vectors[row], dtype="<f4").tobytes()
            connection.execute("INSERT INTO vectors VALUES (?, ?)", (inserted, stored))
        if tokens is not None and len(tokens[row]):
            signs = np.ascontiguousarray(tokens[row], dtype=np.uint8).tobytes()
            connection.execute("INSERT INTO tokens VALUES (?, ?)", (inserted, signs))


def delete_pages(
    connection: sqlite3.Connection, tenant: str, space: str, page_ids: Collection[str]
) -> int:
    """Remove pages and their chunks; return how many pages existed."""
    numbers = list(_page_numbers(connection, tenant, space, page_ids))
    if numbers:
        _remove_chunks(connection, numbers, next_revision(connection))
        _change_space(connection, tenant, space)
        connection.executemany(
            "DELETE FROM pages WHERE number = ?", [(number,) for number in numbers]
        )
    return len(numbers)


def set_readers(connection: sqlite3.Connection, page: Page) -> None:
    """Move a page and its chunks to the scope of new readers; a missing page is ignored."""
    for number in _page_numbers(connection, page.tenant, page.space, [page.id]):
        _change_space(connection, page.tenant, page.space)
        scope = _scope(connection, page)
        connection.execute("UPDATE pages SET scope = ? WHERE number = ?", (scope, number))
        connection.execute(
            "UPDATE places SET scope = ?, revision = ? WHERE page = ?",
            (scope, next_revision(connection), number),
        )


def rewrite_words(connection: sqlite3.Connection) -> None:
    """Merge the word indexes: until then FTS5 keeps the words of removed chunks."""
    for table in ("words", "spellings"):
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608 - ours


def truncate_log(connection: sqlite3.Connection) -> None:
    """Empty the write-ahead log, as far as no reader needs it."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def next_revision(connection: sqlite3.Connection) -> int:
    """Increment the revision, so that readers detect the change; delete old removal marks."""
    row = connection.execute(
        "UPDATE facts SET value = value + 1 WHERE name = 'revision' RETURNING value"
    ).fetchone()
    revision = int(row[0])
    forgotten = revision - _REMEMBERED_REVISIONS
    if forgotten > 0 and forgotten % (_REMEMBERED_REVISIONS // 10) == 0:
        connection.execute("DELETE FROM removals WHERE revision <= ?", (forgotten,))
        connection.execute("UPDATE facts SET value = ? WHERE name = 'forgotten'", (forgotten,))
    return revision


def _change_space(connection: sqlite3.Connection, tenant: str, space: str) -> None:
    """Give a space another revision, because one of its pages changes."""
    connection.execute(
        "INSERT INTO space_revisions VALUES (?, ?, hex(randomblob(16))) "
        "ON CONFLICT DO UPDATE SET revision = excluded.revision",
        (tenant, space),
    )


def _scope(connection: sqlite3.Connection, page: Page) -> int:
    key = (page.tenant, page.space, encode_readers(page.readers))
    connection.execute(
        "INSERT INTO scopes (tenant, space, readers) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", key
    )
    found = connection.execute(
        "SELECT id FROM scopes WHERE tenant = ? AND space = ? AND readers = ?", key
    ).fetchone()
    return int(found[0])


def _page(connection: sqlite3.Connection, page: Page, scope: int) -> int:
    row = connection.execute(
        "INSERT INTO pages (tenant, space, id, version, scope) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET version = excluded.version, scope = excluded.scope "
        "RETURNING number",
        (page.tenant, page.space, page.id, page.version, scope),
    ).fetchone()
    return int(row[0])


def _page_numbers(
    connection: sqlite3.Connection, tenant: str, space: str, page_ids: Collection[str]
) -> Iterable[int]:
    for page_id in page_ids:
        row = connection.execute(
            "SELECT number FROM pages WHERE tenant = ? AND space = ? AND id = ?",
            (tenant, space, page_id),
        ).fetchone()
        if row is not None:
            yield int(row[0])


def _remove_chunks(connection: sqlite3.Connection, pages: Sequence[int], revision: int) -> None:
    of_pages = "SELECT chunk FROM places WHERE page IN (SELECT value FROM json_each(?))"
    numbers = encode_numbers(
        row[0] for row in connection.execute(of_pages, (encode_numbers(pages),))
    )
    connection.execute(
        "INSERT INTO removals SELECT value, ? FROM json_each(?)", (revision, numbers)
    )
    for delete in (
        "DELETE FROM chunks WHERE number IN (SELECT value FROM json_each(?))",
        "DELETE FROM vectors WHERE chunk IN (SELECT value FROM json_each(?))",
        "DELETE FROM tokens WHERE chunk IN (SELECT value FROM json_each(?))",
        "DELETE FROM places WHERE chunk IN (SELECT value FROM json_each(?))",
    ):
        connection.execute(delete, (numbers,))


def _insert_chunk(
    connection: sqlite3.Connection, chunk: Chunk, place: tuple[int, int, int]
) -> int | None:
    taken = connection.execute("SELECT 1 FROM chunks WHERE id = ?", (chunk.id,)).fetchone()
    if taken:
        raise ValueError(f"Chunk {chunk.id!r} is already in the index, on another page.")
    number = connection.execute(
        "INSERT INTO chunks (id, ordinal, title, section, breadcrumb, text, url, source_type, "
        "source_id, document_page, updated_at, labels, updated_by) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        chunk_row(chunk),
    ).lastrowid
    connection.execute("INSERT INTO places VALUES (?, ?, ?, ?)", (number, *place))
    return number
