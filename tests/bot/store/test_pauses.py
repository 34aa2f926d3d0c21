from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from bot.store.database import Store, open_store
from bot.store.tables import AuditRow


async def acts(store: Store) -> list[tuple[str, str, str, str]]:
    columns = (AuditRow.tenant, AuditRow.actor, AuditRow.act, AuditRow.detail)
    async with store.transactions.reading() as connection:
        rows = await connection.execute(select(*columns).order_by(AuditRow.number))
        return [(row[0], row[1], row[2], row[3]) for row in rows]


async def test_nothing_is_paused_at_first(store: Store) -> None:
    assert await store.pauses.current("default") is None
    assert not await store.pauses.resume("default", "ops")
    assert await acts(store) == []


async def test_a_pause_holds_until_it_is_lifted(store: Store) -> None:
    paused = await store.pauses.pause("default", "We move the wiki", "ops")

    assert await store.pauses.current("default") == paused
    assert (paused.reason, paused.by) == ("We move the wiki", "ops")
    assert abs(datetime.now(UTC) - paused.since) < timedelta(minutes=1)
    assert await store.pauses.resume("default", "anna")
    assert await store.pauses.current("default") is None


async def test_a_pause_is_seen_by_another_process_at_once(store: Store, url: str) -> None:
    other = await open_store(url)
    try:
        before = await other.pauses.current("default")
        paused = await store.pauses.pause("default", "We move the wiki", "ops")

        assert before is None
        assert await other.pauses.current("default") == paused
    finally:
        await other.close()


async def test_pausing_again_changes_the_reason_and_keeps_the_beginning(store: Store) -> None:
    first = await store.pauses.pause("default", "First", "ops")
    second = await store.pauses.pause("default", "Second", "anna")

    assert (second.reason, second.by, second.since) == ("Second", "anna", first.since)
    assert await store.pauses.current("default") == second


async def test_another_tenant_is_not_paused(store: Store) -> None:
    await store.pauses.pause("default", "We move the wiki", "ops")

    assert await store.pauses.current("other") is None
    assert not await store.pauses.resume("other", "ops")
    assert await store.pauses.current("default") is not None


async def test_each_change_is_kept_with_who_made_it(store: Store) -> None:
    await store.pauses.pause("default", "We move \x00 the wiki 🔑", "ops")
    await store.pauses.resume("default", "anna")
    await store.pauses.resume("default", "anna")

    assert await acts(store) == [
        ("default", "ops", "pause", "We move \N{REPLACEMENT CHARACTER} the wiki 🔑"),
        ("default", "anna", "resume", ""),
    ]


async def test_a_pause_whose_audit_fails_is_none(store: Store) -> None:
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql("DROP TABLE audit")
    with pytest.raises(Exception, match="record can't be"):
        await store.pauses.pause("default", "We move the wiki", "ops")

    assert await store.pauses.current("default") is None
