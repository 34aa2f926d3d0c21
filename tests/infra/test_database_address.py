"""The database's address as the vault gives it, tried on a PostgreSQL that has no TLS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from bot.domain.errors import StoreUnavailable
from bot.domain.settings import Settings
from bot.inbox.engine import engine_url
from bot.store.database import database_url, prepare
from ingestion.errors import LedgerUnavailable
from ingestion.records.assembly import records_at
from tests import postgres
from tests.infra.bicep import AZURE

ENCRYPTED = "?sslmode=require"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not postgres.available():
        pytest.skip(postgres.MISSING)
    with postgres.running() as server:
        yield server.create("frontdesk")


def test_the_vault_asks_for_an_encrypted_connection() -> None:
    vault = (AZURE / "modules" / "vault.bicep").read_text()
    [address] = re.findall(r"value: '(postgresql://[^']+)'", vault)
    filled = re.sub(r"\$\{[^}]+\}", "x", address)

    settings = Settings(database_url=SecretStr(filled))

    assert filled.endswith(ENCRYPTED)
    assert database_url(settings) == f"postgresql+psycopg://x:x@x/x{ENCRYPTED}"


async def test_the_record_is_not_kept_where_it_would_go_in_the_clear(
    address: str,
) -> None:
    settings = Settings(database_url=SecretStr(address + ENCRYPTED))

    with pytest.raises(StoreUnavailable):
        await prepare(database_url(settings))

    await prepare(database_url(Settings(database_url=SecretStr(address))))


def test_nor_is_the_engine(address: str) -> None:
    settings = Settings(database_url=SecretStr(address + ENCRYPTED))
    engine = create_engine(engine_url(settings))

    with pytest.raises(OperationalError, match="SSL"), engine.connect() as connection:
        connection.execute(text("SELECT 1"))

    engine.dispose()


async def test_nor_is_what_ingestion_remembers(address: str, tmp_path: Path) -> None:
    encrypted = records_at(tmp_path, "acme", address + ENCRYPTED)
    with pytest.raises(LedgerUnavailable):
        await encrypted.ledger.active()
    encrypted.close()

    plain = records_at(tmp_path, "acme", address)
    active = await plain.ledger.active()
    plain.close()
    assert not active


@pytest.mark.parametrize("password", ["letters123", "p@ss/w:rd?#%", "ä ö"])
def test_a_password_that_is_encoded_as_the_vault_does_is_taken(password: str) -> None:
    address = f"postgresql://frontdesk:{quote(password, safe='')}@db.example/frontdesk{ENCRYPTED}"

    settings = Settings(database_url=SecretStr(address))

    assert create_engine(database_url(settings)).url.password == password
