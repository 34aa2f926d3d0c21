"""Migrate ingestion's own tables to the current revision.

Uses Alembic's operations without its command, which works through globals of its module: the bot
may be migrating its own tables in another thread at the same moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, text

from ingestion.records.migrations import r0001_records

STEPS: Mapping[str, Callable[[Operations], None]] = {"0001": r0001_records.upgrade}
"""From oldest to newest."""


def upgrade(connection: Connection, revision: str | None, version_table: str) -> None:
    """Apply the migrations after a revision, in the open transaction.

    Raises LookupError for an unknown revision.
    """
    names = list(STEPS)
    if revision is not None and revision not in STEPS:
        raise LookupError(revision)
    operations = Operations(MigrationContext.configure(connection))
    for name in names[names.index(revision) + 1 if revision else 0 :]:
        STEPS[name](operations)
    connection.execute(
        text(f"CREATE TABLE IF NOT EXISTS {version_table} (revision VARCHAR(32) NOT NULL)")
    )
    connection.execute(text(f"DELETE FROM {version_table}"))  # noqa: S608 - the name is ours
    connection.execute(
        text(f"INSERT INTO {version_table} VALUES (:revision)"),  # noqa: S608 - as above
        {"revision": names[-1]},
    )
