"""One run at a time on a space: a lock that ends with the process, however that ends."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ingestion.errors import RunInProgress


@contextmanager
def lease(data_dir: Path, tenant: str, space: str) -> Iterator[None]:
    """Hold a space for one run, in this process and against all others on this data directory.

    Raises:
        RunInProgress: another run holds it.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    name = hashlib.blake2b(f"{tenant}\0{space}".encode(), digest_size=8).hexdigest()
    with closing(
        sqlite3.connect(data_dir / f"ingestion-{name}.lock", timeout=0, isolation_level=None)
    ) as connection:
        try:
            # SQLite locks files alike on every system, and a killed process lets go.
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise RunInProgress(
                f"Another run works on space {space!r} in {str(data_dir)!r}; wait until it ends."
            ) from error
        yield
