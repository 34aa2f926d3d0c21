"""Tests of channel policies and of admins' acts in the record."""

from __future__ import annotations

import asyncio

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.messages import Policy
from bot.store.database import Store
from bot.store.tables import PolicyRow
from tests.fakes.builders import NOON
from tests.fakes.record_rows import add

IT = Policy(frozenset({"IT", "HR"}))


async def test_a_policy_is_kept_with_who_set_it(store: Store) -> None:
    await store.policies.set("default", "slack:C1", IT, actor="cli:anna")

    assert await store.policies.of("default", "slack:C1") == IT
    (kept,) = await store.policies.all("default")
    assert (kept.channel, kept.policy, kept.changed_by) == ("slack:C1", IT, "cli:anna")


async def test_policies_that_are_read_at_once_are_each_channels_own(store: Store) -> None:
    own = [Policy(frozenset({f"S{number}"})) for number in range(70)]
    for number, policy in enumerate(own):
        await store.policies.set("default", f"slack:C{number}", policy, actor="cli:anna")
    asked = [("default", f"slack:C{number}") for number in range(70)]

    found = await asyncio.gather(
        *(store.policies.of(*each) for each in asked),
        store.policies.of("another", "slack:C1"),
        store.policies.of("default", "slack:none"),
    )

    assert found == [*own, None, None]


async def test_a_read_that_is_given_up_takes_nothing_from_others(store: Store) -> None:
    await store.policies.set("default", "slack:C1", IT, actor="cli:anna")
    given_up, other = (
        asyncio.create_task(store.policies.of("default", "slack:C1")) for _ in range(2)
    )
    await asyncio.sleep(0)
    given_up.cancel()

    assert await other == IT


async def test_a_later_one_replaces_it_and_each_is_an_act(store: Store) -> None:
    nothing = Policy(frozenset())
    await store.policies.set("default", "slack:C1", IT, actor="cli:anna")
    await store.policies.set("default", "slack:C1", nothing, actor="cli:ben")

    assert await store.policies.of("default", "slack:C1") == nothing
    acts = await store.audits.newest("default", 10)
    assert [(act.actor, act.act, act.subject) for act in acts] == [
        ("cli:ben", "set policy", "slack:C1"),
        ("cli:anna", "set policy", "slack:C1"),
    ]
    assert '"HR"' in acts[1].detail


async def test_a_channel_without_one_has_none(store: Store) -> None:
    await store.policies.set("default", "slack:C1", IT, actor="cli:anna")

    assert await store.policies.of("default", "slack:C2") is None
    assert await store.policies.of("other", "slack:C1") is None
    assert await store.policies.all("other") == []


async def test_removing_is_an_act_only_where_there_was_one(store: Store) -> None:
    await store.policies.set("default", "slack:C1", IT, actor="cli:anna")

    assert await store.policies.remove("default", "slack:C1", actor="cli:ben")
    assert not await store.policies.remove("default", "slack:C1", actor="cli:ben")

    assert await store.policies.of("default", "slack:C1") is None
    acts = [act.act for act in await store.audits.newest("default", 10)]
    assert acts == ["clear policy", "set policy"]


async def test_setting_at_the_same_time_leaves_one_of_them_whole(store: Store) -> None:
    allowed = [Policy(frozenset({f"S{number}"})) for number in range(10)]

    await asyncio.gather(
        *(store.policies.set("default", "slack:C1", each, actor="cli:anna") for each in allowed)
    )

    assert await store.policies.of("default", "slack:C1") in allowed
    assert len(await store.policies.all("default")) == 1
    assert len(await store.audits.newest("default", 99)) == 10


async def test_of_those_who_replace_the_same_policy_at_once_one_does(store: Store) -> None:
    wanted = [Policy(frozenset({f"S{number}"})) for number in range(10)]

    for before in (Policy(), IT):
        if before == IT:
            await store.policies.set("default", "slack:C1", IT, actor="cli:anna")
        done = await asyncio.gather(
            *(
                store.policies.set("default", "slack:C1", each, actor="cli:ben", instead_of=before)
                for each in wanted
            )
        )
        assert done.count(True) == 1
        assert await store.policies.of("default", "slack:C1") == wanted[done.index(True)]

    assert len(await store.audits.newest("default", 99)) == 3


async def test_what_replaces_another_policy_than_holds_leaves_no_trace(store: Store) -> None:
    assert not await store.policies.set("default", "slack:C1", IT, actor="a", instead_of=IT)

    assert await store.policies.all("default") == []
    assert await store.audits.newest("default", 9) == []


@pytest.mark.parametrize("channel", ["slack:C\x001", "teams:19:x@thread.tacv2;messageid=1", ""])
async def test_any_name_of_a_channel_will_do(store: Store, channel: str) -> None:
    await store.policies.set("default", channel, IT, actor="cli:anna")

    assert await store.policies.of("default", channel) == IT
    assert await store.policies.remove("default", channel, actor="cli:anna")


async def test_a_policy_of_a_newer_version_is_not_guessed_at(store: Store) -> None:
    values = {"tenant": "default", "channel": "c", "policy": '{"format": 99, "value": {}}'}
    await add(store, PolicyRow, **values, changed_by="cli:anna", changed_at=NOON)

    with pytest.raises(StoreUnavailable, match="newer"):
        await store.policies.of("default", "c")


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
