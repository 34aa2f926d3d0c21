"""Tests of the list of a person's own cases: what is in it, and what it never shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.cases import Actor, expert_of
from bot.domain.interactions import Escalation
from bot.domain.messages import FoundPassage, InteractionId, Message, Person
from bot.escalations.own_cases import CHOSEN, CaseFinder
from bot.store.database import Store, open_store, sqlite_url
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import message

MIKA, ZOE = Person("mika"), Person("zoe")
LENA = Person("lena", "Lena", email="lena@acme.example")
LENA_ACTS = Actor("lena@acme.example", "Lena", "expert")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await open_store(sqlite_url(tmp_path)) as opened:
        yield opened


async def link(case_id: InteractionId) -> str | None:
    return f"https://acme.example/{case_id}"


@pytest.fixture
def finder(store: Store) -> CaseFinder:
    return CaseFinder("default", store.escalations, store.interactions.get, link)


async def hand_over(
    store: Store, question: str, by: Person = MIKA, *, found: tuple[FoundPassage, ...] = ()
) -> Message:
    asked = replace(message(question, message_id=question), author=by)
    opened = await store.work.open(asked, "me")
    given = generic_outcome("")
    response = Escalation("Noted.", "low_confidence", question)
    outcome = replace(given, response=response, trace=replace(given.trace, passages=found))
    await store.work.close(opened, outcome, last=True)
    return asked


async def test_an_asker_finds_their_own_cases_alone(store: Store, finder: CaseFinder) -> None:
    await hand_over(store, "VPN?")
    await hand_over(store, "Badge?", ZOE)

    found = await finder.of("web", MIKA)

    assert [each.question for each in found.open] == ["VPN?"]
    assert (found.settled, found.claimed, found.waiting) == ((), (), None)


async def test_settled_cases_are_listed_apart_and_say_by_whom(
    store: Store, finder: CaseFinder
) -> None:
    asked = await hand_over(store, "VPN?")
    await store.escalations.act("default", asked.interaction_id, "reply", LENA_ACTS, "Blue.")
    await store.escalations.act("default", asked.interaction_id, "resolve", LENA_ACTS)

    found = await finder.of("web", MIKA)

    assert found.open == ()
    assert [each.status for each in found.settled] == ["resolved by Lena"]


async def test_an_expert_finds_what_they_took_and_how_much_waits(
    store: Store, finder: CaseFinder
) -> None:
    asked = await hand_over(store, "VPN?")
    await hand_over(store, "Badge?", ZOE)
    await store.escalations.act("default", asked.interaction_id, "claim", LENA_ACTS)

    found = await finder.of("slack", LENA)

    assert expert_of("slack", LENA).id == LENA_ACTS.id
    assert [each.question for each in found.claimed] == ["VPN?"]
    assert found.waiting == 1


async def test_the_same_id_on_another_platform_is_somebody_else(
    store: Store, finder: CaseFinder
) -> None:
    await hand_over(store, "VPN?")

    assert (await finder.of("teams", MIKA)).open == ()


async def test_the_title_of_a_page_that_was_chosen_is_not_repeated(
    store: Store, finder: CaseFinder
) -> None:
    await hand_over(store, "Layoffs", found=(FoundPassage("c1", "p1", "Layoffs", "", {}),))

    assert [each.question for each in (await finder.of("web", MIKA)).open] == [CHOSEN]
