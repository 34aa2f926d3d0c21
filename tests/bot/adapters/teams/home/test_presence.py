"""Where the bot was removed from."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.teams.tenant.conversations import Removals
from tests.bot.adapters.teams.home.written import Written

HELP, CHAT, GROUP = "19:help@thread.tacv2", "a:alice-and-bot", "19:group@thread.v2"


@pytest.fixture
def written() -> Written:
    return Written()


@pytest.fixture
def here(written: Written) -> Removals:
    return Removals(written, "acme")


async def test_a_place_that_the_bot_was_removed_from_is_gone_for_all_processes(
    here: Removals, written: Written
) -> None:
    await here.gone(CHAT, "The bot was removed.")

    assert await here.is_gone(CHAT)
    assert await Removals(written, "acme").is_gone(CHAT)
    assert not await Removals(written, "globex").is_gone(CHAT)
    assert not await here.is_gone(HELP)


async def test_what_comes_from_there_shows_that_the_bot_is_back(
    here: Removals, written: Written
) -> None:
    elsewhere = Removals(written, "acme")
    await here.gone(CHAT, "The bot was removed.")
    await elsewhere.back(CHAT)

    assert not await elsewhere.is_gone(CHAT)
    assert not await here.is_gone(CHAT)
    assert not written.texts


async def test_a_team_that_the_bot_is_added_to_brings_all_channels_back(here: Removals) -> None:
    for place in (HELP, GROUP, CHAT):
        await here.gone(place, "403")
    await here.added("19:general@thread.tacv2")

    assert [await here.is_gone(place) for place in (HELP, GROUP, CHAT)] == [False, False, True]


async def test_what_comes_from_where_the_bot_is_writes_nothing(
    here: Removals, written: Written
) -> None:
    await here.back(CHAT)
    await here.back(CHAT)

    assert written.writes == 0


async def test_while_the_record_is_away_nothing_is_held_back(
    here: Removals, written: Written
) -> None:
    await here.gone(CHAT, "403")
    written.broken = True

    assert not await here.is_gone(CHAT)
    assert not await here.is_gone(HELP)


STEPS = st.lists(st.tuples(st.sampled_from(["gone", "added"]), st.integers(0, 2)), min_size=1)


@given(STEPS)
def test_no_process_holds_back_what_another_knows_to_be_there(steps: list[tuple[str, int]]) -> None:
    async def lived() -> list[bool]:
        written = Written()
        processes = [Removals(written, "acme") for _ in range(3)]
        for what, number in steps:
            each = processes[number]
            await (each.added(CHAT) if what == "added" else each.gone(CHAT, "403"))
        return [await each.is_gone(CHAT) for each in processes]

    told = asyncio.run(lived())
    last, by = steps[-1]
    assert told[by] == (last == "gone")
    assert last == "gone" or not any(told)
