"""Open the records that belong to an index: beside it, or on its server (docs/adr/0010)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from ingestion.records.database import Database, sqlite_in
from ingestion.records.leases import FileLeases, Leases, TableLeases
from ingestion.records.ledger import Ledger, Passes


class RecordsSettings(Protocol):
    """The settings that determine the records; shared by the bot and ingestion."""

    @property
    def data_dir(self) -> Path: ...
    @property
    def tenant(self) -> str: ...
    @property
    def database_url(self) -> SecretStr | None: ...
    @property
    def azure_search_configured(self) -> bool: ...


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


def records_of(settings: RecordsSettings) -> Records:
    """Return the records that belong to the configured index.

    An index shared by all replicas has its records on their database server, if there is one. A
    file index has them in a file beside it: what one replica indexed is not in another replica's
    index.
    """
    url = settings.database_url
    shared = url is not None and settings.azure_search_configured
    return records_at(
        settings.data_dir,
        settings.tenant,
        url.get_secret_value() if url is not None and shared else None,
    )


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
