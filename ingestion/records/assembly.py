"""Open the records that belong to an index: beside it, or on its server (docs/adr/0010)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from ingestion.records.database import Database, sqlite_in
from ingestion.records.leases import FileLeases, Leases, TableLeases
from ingestion.records.ledger import Ledger, Passes
from rag.config import SearchSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The stores of ingestion; nothing is opened before its first use."""

    ledger: Ledger
    leases: Leases
    passes: Passes
    database: Database

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        self.database.close()


def records_of(settings: SearchSettings, database_url: SecretStr | None) -> Records:
    """Return the records that belong to the configured index.

    An index shared by all replicas has its records on their database server, if there is one. A
    file index has them in a file beside it: what one replica indexed is not in another replica's
    index.
    """
    shared = database_url if settings.azure_search_configured else None
    url = shared.get_secret_value() if shared is not None else None
    return records_at(settings.data_dir, settings.tenant, url)


def records_at(data_dir: Path, tenant: str, database_url: str | None = None) -> Records:
    """Return the records on a database server, or in a data directory."""
    database = sqlite_in(data_dir) if database_url is None else Database(database_url)
    leases = FileLeases(data_dir, tenant) if database_url is None else TableLeases(database, tenant)
    return Records(
        ledger=Ledger(database, tenant),
        leases=leases,
        passes=Passes(database, tenant),
        database=database,
    )
