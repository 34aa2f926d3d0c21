"""A lock on a space in a data directory; it ends with the process, however that ends."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from ingestion.errors import LedgerUnavailable, RunInProgress


@contextmanager
def lease(data_dir: Path, tenant: str, space: str) -> Iterator[None]:
    """Hold a space for one run, in this process and against all others on this data directory.

    Raises:
        RunInProgress: another run holds it.
        LedgerUnavailable: nothing can be written there.
    """
    name = hashlib.blake2b(f"{tenant}\0{space}".encode(), digest_size=8).hexdigest()
    with ExitStack() as closing_later:
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            # SQLite locks files alike on every system, and a killed process lets go.
            connection = sqlite3.connect(
                data_dir / f"ingestion-{name}.lock", timeout=0, isolation_level=None
            )
            closing_later.enter_context(closing(connection))
            connection.execute("BEGIN EXCLUSIVE")
        except (sqlite3.Error, OSError) as error:
            if "locked" in str(error):
                raise RunInProgress(
                    f"Another run works on space {space!r} in {str(data_dir)!r}; wait until it "
                    "ends."
                ) from error
            raise LedgerUnavailable(
                f"{str(data_dir)!r} cannot be written to ({error}). Check that this user may write "
                "to it and that the disk has room."
            ) from error
        yield
