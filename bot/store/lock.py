"""The lock that keeps a second server off a data directory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from bot.domain.errors import DataDirInUse


@contextmanager
def held(data_dir: Path) -> Iterator[None]:
    """Hold a data directory for one server.

    SQLite locks files alike on every system, and a killed process lets go.

    Raises:
        DataDirInUse: another server holds it, or nothing can be written there.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataDirInUse(_unwritable(data_dir, error.strerror)) from error
    with ExitStack() as closing_later:
        try:
            connection = sqlite3.connect(data_dir / "server.lock", timeout=0, isolation_level=None)
            closing_later.enter_context(closing(connection))
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise DataDirInUse(_trouble(data_dir, error)) from error
        yield


def _trouble(data_dir: Path, error: sqlite3.OperationalError) -> str:
    if "locked" in str(error):
        return (
            f"Another server runs on FRONTDESK_DATA_DIR={str(data_dir)!r}. Stop it, or name "
            "another folder; several servers share a PostgreSQL database (DATABASE_URL) instead."
        )
    return _unwritable(data_dir, str(error))


def _unwritable(data_dir: Path, why: str | None) -> str:
    return (
        f"FRONTDESK_DATA_DIR={str(data_dir)!r} can't be used: {why}. Name a folder that this user "
        "may write to, on a disk with free space."
    )
