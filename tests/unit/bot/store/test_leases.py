"""Tests of who may work on what, on both databases."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from bot.domain.interactions import Claim, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.store.database import Store
from bot.store.leases import LONGEST_HOLD_UP
from bot.store.tables import InteractionRow
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import message
from tests.fakes.durable_inbox import OWNER, record_answer, stored_interaction

ASKED = message("hi")
ID = ASKED.interaction_id
REF = PostedRef("C1", "17.5")


def numbered(number: int, *, thread: str = "t1") -> Message:
    return message(f"question {number}", message_id=f"{thread}-{number}", thread=thread)


async def alive(store: Store, *replicas: str) -> None:
    for replica in replicas:
        await store.replicas.prolong(replica, seconds=60)


async def test_each_claim_is_one_higher_and_ends_the_one_before(store: Store) -> None:
    await store.work.open(ASKED, "me")

    claims = [await store.work.claim(ID, owner) for owner in ("me", "me", "another")]

    taken = [each.claim for each in claims if each is not None]
    assert taken == [Claim("me", 2), Claim("me", 3), Claim("another", 4)]
    assert (await stored_interaction(store, ID)).claim == taken[-1]


async def test_what_a_living_process_has_is_not_claimed(store: Store) -> None:
    await alive(store, "another")
    await store.work.open(ASKED, "another")

    assert await store.work.claim(ID, "me") is None
    assert (await stored_interaction(store, ID)).claim == Claim("another", 1)


@pytest.mark.parametrize("end", ["its lease ran out", "it was released", "it never was there"])
async def test_what_a_dead_process_had_is_claimed(store: Store, end: str) -> None:
    await store.work.open(ASKED, "another")
    if end != "it never was there":
        await store.replicas.prolong("another", seconds=0)
    if end == "it was released":
        await store.replicas.release("another")

    claimed = await store.work.claim(ID, "me")

    assert claimed is not None
    assert claimed.claim == Claim("me", 2)


async def test_of_many_that_claim_at_once_one_has_it(store: Store) -> None:
    owners = [f"s{number}" for number in range(10)]
    await alive(store, *owners)
    await store.work.open(ASKED, OWNER)

    claims = await asyncio.gather(*(store.work.claim(ID, owner) for owner in owners))

    taken = [each for each in claims if each is not None]
    assert len(taken) == 1
    assert await stored_interaction(store, ID) == taken[0]


async def test_there_is_nothing_to_claim_of_what_is_finished(store: Store) -> None:
    kept = await record_answer(store, ASKED, "hello")
    assert await store.work.claim(kept.id, "me") is not None
    await store.work.posted(kept.id, REF)
    failed = await record_answer(store, numbered(2), "hello")
    await store.work.fail(failed, "Gone.")
    nobody = InteractionId("00000000-0000-0000-0000-000000000000")

    for each in (kept.id, failed.id, nobody):
        assert await store.work.claim(each, "me") is None


async def test_what_is_to_be_taken_back_is_claimed_until_it_is(store: Store) -> None:
    kept = await record_answer(store, ASKED, "hello")
    await store.work.cancel(kept.id)

    claimed = await store.work.claim(kept.id, "me")

    assert claimed is not None
    assert (claimed.status, claimed.claim) == ("cancelling", Claim("me", 3))
    await store.work.cancelled(kept.id)
    assert await store.work.claim(kept.id, "me") is None


async def test_unfinished_is_what_one_has_claimed_or_nobody_alive_has(store: Store) -> None:
    await alive(store, "me", "another")
    for number, owner in enumerate(("me", "another", OWNER)):
        await store.work.open(numbered(number), owner)

    mine = await store.work.unfinished("me")
    anyones = await store.work.unfinished()

    assert [each.id for each in mine] == [numbered(0).interaction_id]
    assert [each.id for each in anyones] == [numbered(2).interaction_id]
    assert [each.epoch for each in (*mine, *anyones)] == [1, 1]


async def test_what_dead_processes_had_is_taken_over_by_one_unanswered_first(
    store: Store,
) -> None:
    await alive(store, "me", "another")
    answered = await record_answer(store, ASKED, "answered")
    for number, owner in enumerate(("me", "another", OWNER, "dead", None, OWNER)):
        await store.work.open(numbered(number), owner)
    ids = [numbered(n).interaction_id for n in (2, 3, 5)]

    first = await store.work.take_over("me", 2, ["dead"])
    rest = await store.work.take_over("another", 2, ["dead"])

    assert [(each.id, each.epoch) for each in first] == [(ids[0], 2), (ids[1], 2)]
    assert [each.id for each in rest] == [answered.id, ids[2]], "what is answered is taken last"
    assert (await stored_interaction(store, ids[0])).claim == Claim("me", 2)
    assert await store.work.take_over("me", 2, ["dead"]) == []


async def test_a_dead_process_is_buried_only_after_its_work_is_taken_over(
    store: Store,
) -> None:
    await alive(store, "me")
    await store.work.open(ASKED, "dying")
    await store.replicas.prolong("dying", seconds=0)

    unknown = await store.work.take_over("me", 9, [])
    await store.replicas.bury("dying")
    dead = await store.replicas.dead()
    taken = await store.work.take_over("me", 9, dead)
    await store.replicas.bury("dying")

    assert (unknown, dead) == ([], ["dying"])
    assert [each.id for each in taken] == [ID]
    assert await store.replicas.dead() == []


async def test_their_ids_are_without_what_nobody_has_claimed_yet(store: Store) -> None:
    await alive(store, "me", "another")
    assert await store.work.unfinished_ids("me") == frozenset()
    for number, owner in enumerate(("me", "another", OWNER, None)):
        await store.work.open(numbered(number), owner)

    ids = await store.work.unfinished_ids("me")

    assert ids == {numbered(n).interaction_id for n in (0, 2)}


async def test_a_message_is_behind_every_earlier_one_that_is_unanswered(
    store: Store,
) -> None:
    first = await store.work.open(numbered(1), OWNER)
    elsewhere = await store.work.open(numbered(2, thread="t2"), OWNER)
    last = await store.work.open(numbered(3), OWNER)

    assert [await store.work.behind(each) for each in (first, elsewhere, last)] == [
        False,
        False,
        True,
    ]
    await store.work.close(first, generic_outcome("ok"), last=True)
    assert await store.work.behind(last)
    await store.work.posted(first.id, REF)
    assert not await store.work.behind(last)


@pytest.mark.parametrize("end", ["posted", "long ago", "given up", "withdrawn"])
async def test_an_earlier_message_holds_a_later_one_until_posted_or_for_long(
    store: Store, end: str
) -> None:
    first = await record_answer(store, numbered(1), "one")
    later = await store.work.open(numbered(2), OWNER)
    await store.work.unposted(first)
    assert await store.work.behind(later)

    if end == "posted":
        await store.work.posted(first.id, REF)
    elif end == "long ago":
        async with store.transactions.writing() as connection:
            before = datetime.now(UTC) - LONGEST_HOLD_UP
            await connection.execute(update(InteractionRow).values(finished_at=before))
    elif end == "given up":
        await store.work.fail(first, "Gone.")
    else:
        await store.work.cancel(first.id)

    assert not await store.work.behind(later)


async def test_leases_are_told_apart_by_the_databases_clock(store: Store) -> None:
    await store.replicas.prolong("living", seconds=60)
    await store.replicas.prolong("dead", seconds=0)

    assert await store.replicas.living() == ["living"]
    assert await store.replicas.dead() == ["dead"]

    await store.replicas.prolong("dead", seconds=60)
    assert await store.replicas.living() == ["living", "dead"]
    await store.replicas.release("living")
    await store.replicas.release("living")
    assert await store.replicas.living() == ["dead"]
    assert await store.replicas.dead() == ["living"], "what it had begun is resumed by others"


async def test_a_lease_runs_out_by_itself(store: Store) -> None:
    await store.replicas.prolong("me", seconds=0.2)
    async with asyncio.timeout(60):
        while await store.replicas.living():  # noqa: ASYNC110 - rows tell nobody
            await asyncio.sleep(0.05)

    assert await store.replicas.dead() == ["me"]


async def test_where_only_one_can_be_the_others_are_dead(store: Store) -> None:
    await alive(store, "me", "another", "a third")

    await store.replicas.alone("me")

    assert await store.replicas.living() == ["me"]
    assert sorted(await store.replicas.dead()) == ["a third", "another"]
