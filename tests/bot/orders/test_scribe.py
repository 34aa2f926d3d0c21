"""Orders through the whole application, given on a platform of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot import __version__
from bot.domain.messages import Policy
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry
from tests.bot.house import PAGES, Client, house, write_index
from tests.bot.orders.scribe import PATH
from tests.bot.server import TOKEN, settings_for


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    made = settings_for(tmp_path, adapters=("tests.bot.orders.scribe",), admin_token=TOKEN)
    folder = tmp_path / "pages"
    await write_index(made, folder)
    entry = FolderEntry(str(folder), (("everyone",),), "https://wiki.example/it")
    await Ledger(sqlite_in(tmp_path), made.tenant).note_folder("IT", entry)
    return made


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[Client]:
    async with house(settings) as serving:
        yield serving


async def say(client: Client, text: str, person: str = "anna") -> list[str]:
    async with asyncio.timeout(60):
        async with client.post(PATH, json={"person": person, "text": text}) as response:
            assert response.status == 200, await response.text()
            return list(await response.json())


async def test_what_is_ordered_is_done_told_and_audited(client: Client, settings: Settings) -> None:
    first = await say(client, "reindex it")
    by_page = await say(client, "reindex <https://wiki.example/it/vpn.md#x|VPN> \u2014dry-run")
    status = await say(client, "status", "bea")
    saved = await say(client, "settings")

    assert first[0].startswith("I'm bringing the whole space IT up to date.")
    assert first[-1].startswith("Reindexing IT: done")
    assert "in the space IT. I'm looking at what would change" in by_page[0]
    assert f"{len(PAGES)} pages unchanged" in by_page[-1]
    assert "- IT: 3 pages, brought up to date less than a minute ago" in status[0]
    assert status[0].endswith(f"Frontdesk {__version__}")
    assert saved == ["Saved, from the next question on:\nI answer: never."]
    store = await open_store(sqlite_url(settings.data_dir))
    acts = await store.audits.newest(settings.tenant, 9)
    policy = await store.policies.of(settings.tenant, "scribe:room")
    await store.close()
    assert policy == Policy(answers="off")
    assert [(act.actor, act.act, act.subject) for act in acts] == [
        ("scribe:anna", "set policy", "scribe:room"),
        ("scribe:anna", "reindex", "IT"),
        ("scribe:anna", "reindex", "IT"),
    ]


async def test_who_is_no_admin_orders_nothing(client: Client, settings: Settings) -> None:
    for order in ("reindex IT", "reindex all --dry-run", "reindex status", "settings"):
        (said,) = await say(client, order, "bea")
        assert "SCRIBE_ADMINS" in said

    assert await Ledger(sqlite_in(settings.data_dir), settings.tenant).newest(9) == []
