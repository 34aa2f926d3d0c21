"""Acts of admins."""

from __future__ import annotations

import asyncio

from bot.store.database import Store


async def test_acts_are_listed_newest_first(store: Store) -> None:
    for subject in ("one", "two", "three"):
        await store.audits.append("default", "cli:anna", "resolve", subject, detail="done")

    listed = await store.audits.newest("default", 2)

    assert [(act.actor, act.act, act.subject, act.detail) for act in listed] == [
        ("cli:anna", "resolve", "three", "done"),
        ("cli:anna", "resolve", "two", "done"),
    ]
    older = await store.audits.newest("default", 2, before=listed[-1].number)
    assert [act.subject for act in older] == ["one"]


async def test_another_tenants_acts_are_not_listed(store: Store) -> None:
    await store.audits.append("other", "cli:anna", "resolve", "one")

    assert await store.audits.newest("default", 10) == []


async def test_any_text_is_kept(store: Store) -> None:
    long = "x\x00\ud800" + "y" * 65_536
    await store.audits.append("default", long, "act", long, detail=long)

    (act,) = await store.audits.newest("default", 1)

    assert act.actor == act.subject == act.detail == "x\ufffd\ufffd" + "y" * 65_536


async def test_acts_at_the_same_time_are_all_kept(store: Store) -> None:
    await asyncio.gather(
        *(store.audits.append("default", "cli:a", "act", str(n)) for n in range(30))
    )

    assert {act.subject for act in await store.audits.newest("default", 99)} == {
        str(n) for n in range(30)
    }
