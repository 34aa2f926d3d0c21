"""Define the tables of the embedded index, connect to them, and map chunks to rows and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from rag.errors import IndexMismatch, IndexUnavailable
from rag.types import Chunk, decode_readers

SCHEMA = 2
"""Incremented whenever the tables, or the text that is embedded, change their meaning."""

_COLUMNS_SINCE = {"updated_by": "TEXT NOT NULL DEFAULT ''"}
"""Columns of chunks that older files of this schema lack; they are added on opening."""

_APPLICATION = 0x46726F6E  # "Fron", so that a foreign SQLite file is not taken for an index
_BUSY_SECONDS = 20.0
_CACHE_KIBIBYTES = 64 * 1024

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
INSERT INTO facts VALUES ('revision', 0), ('forgotten', 0), ('embedder', ''), ('dimensions', 0);

-- Who may read, of which tenant, in which space: few, so that permissions are one number a chunk.
CREATE TABLE scopes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    space TEXT NOT NULL,
    readers TEXT NOT NULL,
    UNIQUE (tenant, space, readers)
);

CREATE TABLE pages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    version TEXT NOT NULL,
    scope INTEGER NOT NULL REFERENCES scopes,
    UNIQUE (tenant, space, id)
);

CREATE TABLE chunks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    ordinal INTEGER NOT NULL,
    title TEXT NOT NULL,
    section TEXT NOT NULL,
    breadcrumb TEXT NOT NULL,
    text TEXT NOT NULL,
    url TEXT NOT NULL,
    source_type TEXT NOT NULL,
    source_id TEXT NOT NULL,
    document_page INTEGER,
    updated_at TEXT,
    labels TEXT NOT NULL,
    updated_by TEXT NOT NULL DEFAULT ''
);

-- What every search looks at for every chunk; narrow, so that it stays in memory.
CREATE TABLE places (
    chunk INTEGER PRIMARY KEY,
    page INTEGER NOT NULL REFERENCES pages,
    scope INTEGER NOT NULL REFERENCES scopes,
    revision INTEGER NOT NULL
);
CREATE INDEX places_by_page ON places (page);
CREATE INDEX places_by_revision ON places (revision);

CREATE TABLE vectors (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE tokens (chunk INTEGER PRIMARY KEY, signs BLOB NOT NULL);

-- Chunks that went, so that a reader need not compare all to learn it.
CREATE TABLE removals (chunk INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
CREATE INDEX removals_by_revision ON removals (revision);

CREATE INDEX chunks_by_source_type ON chunks (source_type);
CREATE INDEX chunks_by_label ON chunks (labels, updated_at);

CREATE VIRTUAL TABLE words USING fts5 (
    title, breadcrumb, text,
    content='chunks', content_rowid='number', tokenize='porter unicode61'
);
CREATE TRIGGER words_of_new_chunk AFTER INSERT ON chunks BEGIN
    INSERT INTO words (rowid, title, breadcrumb, text)
    VALUES (new.number, new.title, new.breadcrumb, new.text);
END;
CREATE TRIGGER words_of_old_chunk AFTER DELETE ON chunks BEGIN
    INSERT INTO words (words, rowid, title, breadcrumb, text)
    VALUES ('delete', old.number, old.title, old.breadcrumb, old.text);
END;
"""

_SPELLING_TABLES = """
-- The words as they are spelt, which `words` has by their stems only.
CREATE VIRTUAL TABLE spellings USING fts5 (
    title, breadcrumb, text,
    content='chunks', content_rowid='number', tokenize='unicode61 remove_diacritics 0', detail=none
);
CREATE TRIGGER spellings_of_new_chunk AFTER INSERT ON chunks BEGIN
    INSERT INTO spellings (rowid, title, breadcrumb, text)
    VALUES (new.number, new.title, new.breadcrumb, new.text);
END;
CREATE TRIGGER spellings_of_old_chunk AFTER DELETE ON chunks BEGIN
    INSERT INTO spellings (spellings, rowid, title, breadcrumb, text)
    VALUES ('delete', old.number, old.title, old.breadcrumb, old.text);
END;
CREATE VIRTUAL TABLE terms USING fts5vocab(spellings, 'row');
"""
"""Made on opening in files that lack them: 20 ms for 2,000 chunks."""

_SPACE_REVISIONS = """
-- Random, not counted: a file made anew, or put back from a copy, repeats no revision.
CREATE TABLE IF NOT EXISTS space_revisions (
    tenant TEXT NOT NULL, space TEXT NOT NULL, revision TEXT NOT NULL,
    PRIMARY KEY (tenant, space)
) WITHOUT ROWID;
"""


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Translate SQLite's errors to IndexUnavailable with the remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise IndexUnavailable(
            f"The index {str(path)!r} cannot be used ({error}). Check that the directory is there, "
            "that this user may write to it, that the disk has room and no other process holds it."
        ) from error
    except sqlite3.DatabaseError as error:
        raise IndexUnavailable(
            f"The index {str(path)!r} is damaged or no index ({error}). "
            "Move the file away and run the ingestion again."
        ) from error


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, creating its tables when it is new.

    Raises sqlite3.Error, and IndexMismatch when another version created the tables.
    """
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        # A removed page's text is overwritten, not left in free pages of the file.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
        with transaction(connection):
            _make_or_check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all writes of a block or none; takes the write lock before reading anything."""
    connection.execute("BEGIN IMMEDIATE")
    with _ended(connection):
        yield


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Read everything in a block from one snapshot of the index."""
    connection.execute("BEGIN")
    with _ended(connection):
        yield


@contextmanager
def _ended(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _make_or_check(connection: sqlite3.Connection, path: Path) -> None:
    application = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
    if application == version == 0 and not _tables(connection):
        _make(connection)
    elif application != _APPLICATION:
        raise sqlite3.DatabaseError("a database of some other program")
    elif version != SCHEMA:
        raise IndexMismatch(
            f"The index {str(path)!r} has schema {version!r}, this program needs {SCHEMA!r}. "
            "Move the file away and run the ingestion again."
        )
    else:
        _update_tables(connection)


def _update_tables(connection: sqlite3.Connection) -> None:
    """Add the columns, indexes and tables that older files of this schema lack."""
    present = {row[1] for row in connection.execute("PRAGMA table_info(chunks)")}
    for name, kind in _COLUMNS_SINCE.items():
        if name not in present:
            connection.execute(f"ALTER TABLE chunks ADD COLUMN {name} {kind}")
    connection.execute("CREATE INDEX IF NOT EXISTS chunks_by_source_type ON chunks (source_type)")
    connection.execute("CREATE INDEX IF NOT EXISTS chunks_by_label ON chunks (labels, updated_at)")
    _execute_all(connection, _SPACE_REVISIONS)
    _add_spellings(connection)


def _add_spellings(connection: sqlite3.Connection) -> None:
    present = "SELECT 1 FROM sqlite_schema WHERE name = 'terms'"
    if connection.execute(present).fetchone() is None:
        _execute_all(connection, _SPELLING_TABLES)
        connection.execute("INSERT INTO spellings (spellings) VALUES ('rebuild')")


def _execute_all(connection: sqlite3.Connection, statements: str) -> None:
    statement = ""
    for line in statements.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


def _make(connection: sqlite3.Connection) -> None:
    _execute_all(connection, _TABLES + _SPELLING_TABLES + _SPACE_REVISIONS)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _tables(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])


SEPARATOR = "\x1f"
"""Separates the parts of a stored breadcrumb; the full-text tokenizer ignores it."""

COLUMNS = (
    "chunks.id, pages.tenant, pages.space, pages.id, chunks.ordinal, chunks.title, "
    "chunks.section, chunks.breadcrumb, chunks.text, chunks.url, scopes.readers, "
    "chunks.source_type, chunks.source_id, chunks.document_page, chunks.updated_at, chunks.labels, "
    "chunks.updated_by"
)
"""The columns that chunk_of reads, in order."""

TABLES = (
    "places JOIN chunks ON chunks.number = places.chunk "
    "JOIN pages ON pages.number = places.page JOIN scopes ON scopes.id = places.scope"
)

FINDABLE = """
places.scope IN (SELECT value FROM json_each(:scopes))
  AND places.page NOT IN (SELECT value FROM json_each(:excluded))
  AND (
    :source_type IS NULL
    OR places.chunk IN (SELECT number FROM chunks WHERE source_type = :source_type)
  )
"""
"""The condition for the chunks that a search may find.

The ids of scopes and the numbers of pages are encoded by ``encode_numbers``.
"""


def chunk_row(chunk: Chunk) -> tuple[str | int | None, ...]:
    """Return a chunk's own columns; its page and scope are stored separately."""
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
        readers=decode_readers(row[10]),
        source_type=row[11],
        source_id=row[12],
        document_page=row[13],
        updated_at=datetime.fromisoformat(row[14]) if row[14] else None,
        labels=_decode_labels(row[15]),
        updated_by=row[16],
    )


@lru_cache(maxsize=1024)
def _decode_labels(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def encode_numbers(numbers: Iterable[int]) -> str:
    """Encode numbers for SQLite's json_each: any count in one parameter."""
    return json.dumps(list(numbers))
