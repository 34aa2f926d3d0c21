"""The history of ingestion's own tables, applied when they are not current.

Alembic's operations, without its command: that one works through globals of its module, and the
bot may be bringing its tables up to date in another thread at the same moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, text

from ingestion.records.migrations import r0001_records

STEPS: Mapping[str, Callable[[Operations], None]] = {"0001": r0001_records.upgrade}
"""From the oldest to the newest."""


def upgrade(connection: Connection, revision: str | None, version_table: str) -> None:
    """Apply the steps after a revision, in the transaction that is open.

    Raises LookupError for a revision that is not known here.
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
