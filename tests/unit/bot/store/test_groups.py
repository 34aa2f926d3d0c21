"""Tests of writes in groups: one commit for messages or claims that come together."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import update

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Claim, Interaction
from bot.domain.messages import Message
from bot.store.database import Store
from bot.store.groups import GroupedOpenings
from bot.store.rows import Rows
from bot.store.tables import InteractionRow
from tests.fakes.builders import message
from tests.fakes.durable_inbox import OWNER
from tests.fakes.record_rows import rows


def numbered(number: int, *, thread: str = "t1") -> Message:
    return message(f"question {number}", message_id=f"m{number}", thread=thread)


def commits_of(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return what grows with each transaction: whether it waits for the disk."""
    writing, commits = store.transactions.writing, []

    def counted(*, lasting: bool = True, urgent: bool = False) -> object:
        commits.append(lasting)
        return writing(lasting=lasting, urgent=urgent)

    monkeypatch.setattr(store.transactions, "writing", counted)
    return commits


async def test_messages_that_arrive_together_share_a_commit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = commits_of(store, monkeypatch)

    opened = await asyncio.gather(*(store.work.open(numbered(n), "me") for n in range(50)))

    assert [each.message.id for each in opened] == [f"m{n}" for n in range(50)]
    assert 1 <= len(commits) <= 3
    assert all(commits)


async def test_a_group_keeps_the_order_of_arrival(store: Store) -> None:
    opened = await asyncio.gather(*(store.work.open(numbered(n), "me") for n in range(30)))

    numbers = [each.number for each in opened]
    assert numbers == sorted(numbers)


async def test_a_message_twice_in_a_group_is_one(store: Store, url: str) -> None:
    opened = await asyncio.gather(*(store.work.open(numbered(1), str(n)) for n in range(5)))

    assert {each.claim.owner for each in opened if each.claim} == {"0"}
    assert rows(url, "SELECT count(*) FROM interactions") == [(1,)]


async def test_a_group_makes_one_conversation_a_thread(store: Store, url: str) -> None:
    await asyncio.gather(
        *(store.work.open(numbered(n, thread=f"t{n % 3}"), "me") for n in range(12))
    )

    assert rows(url, "SELECT count(*) FROM conversations") == [(3,)]


async def test_a_record_that_is_away_is_told_to_each_of_a_group(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_: bool) -> object:
        raise StoreUnavailable("The disk is full.")

    with monkeypatch.context() as broken:
        broken.setattr(store.transactions, "writing", away)
        told = await asyncio.gather(
            *(store.work.open(numbered(n), "me") for n in range(3)), return_exceptions=True
        )

    assert [type(each) for each in told] == [StoreUnavailable] * 3
    assert (await store.work.open(numbered(1), "me")).number


class SpoiltRows(Rows):
    """Makes a row that the record refuses of one message."""

    def opened(self, message: Message, owner: str | None) -> dict[str, object]:
        row = super().opened(message, owner)
        return {**row, "status": None} if message.id == "m1" else row


async def test_a_message_that_the_record_refuses_spoils_no_other(store: Store) -> None:
    openings = GroupedOpenings(store.transactions, SpoiltRows())

    told = await asyncio.gather(
        *(openings.open(numbered(n), "me") for n in range(3)), return_exceptions=True
    )

    assert [isinstance(each, Exception) for each in told] == [False, True, False]


async def test_what_is_claimed_together_shares_a_commit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [(await store.work.open(numbered(n), OWNER)).id for n in range(50)]
    commits = commits_of(store, monkeypatch)

    claims = await asyncio.gather(*(store.work.claim(each, "me") for each in ids))

    assert [each and (each.id, each.claim) for each in claims] == [
        (each, Claim("me", 2)) for each in ids
    ]
    assert 1 <= len(commits) <= 3


async def test_a_row_that_cannot_be_read_spoils_no_other_claim(store: Store) -> None:
    ids = [(await store.work.open(numbered(n), OWNER)).id for n in range(3)]
    async with store.transactions.writing() as connection:
        spoilt = update(InteractionRow).where(InteractionRow.id == ids[1])
        await connection.execute(spoilt.values(message="{}"))

    claims = await asyncio.gather(
        *(store.work.claim(each, "me") for each in ids), return_exceptions=True
    )

    assert [isinstance(each, Interaction) for each in claims] == [True, False, True]


async def test_of_the_same_claimed_twice_together_one_has_it(store: Store) -> None:
    opened = await store.work.open(numbered(1), OWNER)

    claims = await asyncio.gather(*(store.work.claim(opened.id, "me") for _ in range(3)))

    assert [each is not None for each in claims].count(True) == 1
