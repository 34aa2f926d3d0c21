"""Tests of the record of quotes and corrections, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.domain.interactions import Interaction, PostedRef
from bot.learning.corrections import CorrectedPage, Correction, with_correction
from bot.learning.quote_watch import WatchedQuote
from bot.store.database import Store
from tests.fakes.board_app import OPEN, SURE, ask

NOW = datetime.now(UTC)
LATER = NOW + timedelta(hours=1)


async def answered(store: Store, name: str = "m1") -> Interaction:
    asked = await ask(store, name, response=SURE)
    return await store.work.posted(asked.id, PostedRef("C1", f"{name}.1"))


def quote(asked: Interaction, number: int = 0) -> WatchedQuote:
    return WatchedQuote(asked.id, number, "IT", "vpn.md", OPEN.id, OPEN.text, NOW)


def found(asked: Interaction) -> Correction:
    return Correction(asked.id, "IT", "vpn.md", NOW, "due", NOW)


async def test_quotes_are_kept_once_and_their_fate_with_the_correction(store: Store) -> None:
    asked, kept = await answered(store), store.corrections
    for _ in range(2):
        await kept.watch("default", [quote(asked), quote(asked, 1)])

    changed = replace(quote(asked), seen="2", state="changed")
    await kept.found("default", [changed], [found(asked)])

    assert list(await kept.watched("default", "IT")) == [changed, quote(asked, 1)]
    assert await kept.due("default", NOW, 5) == [found(asked)]
    assert not await kept.due("other", NOW, 5)
    assert not await kept.watched("other", "IT")


async def test_answers_are_followed_once_they_are_posted(store: Store) -> None:
    await ask(store, "m0", response=SURE)
    asked = await answered(store)

    first, second = await store.corrections.posted("default", 0, [], 5)
    assert (first.done, second.done, second.cites) == (False, True, True)
    waiting = await store.corrections.posted("default", second.number, [first.number], 5)
    assert [each.number for each in waiting] == [first.number]
    assert second.id == asked.id


async def test_a_correction_that_was_settled_is_found_anew(store: Store) -> None:
    asked, kept = await answered(store), store.corrections
    await kept.found("default", [], [found(asked)])
    await kept.later("default", replace(found(asked), attempts=3), LATER, "away")
    assert await kept.due("default", NOW, 5) == []
    (waiting,) = await kept.due("default", LATER, 5)
    assert waiting.attempts == 3

    await kept.settle("default", found(asked), "told", LATER, "")
    assert await kept.settled_since("default", NOW) == {("IT", "vpn.md"): 1}
    await kept.found("default", [], [replace(found(asked), found_at=LATER, due_at=LATER)])

    assert len(await kept.due("default", LATER, 5)) == 1
    assert await kept.pages("default", 5, 0) == [
        CorrectedPage("IT", "vpn.md", LATER, told=0, noted=0, refused=0, waiting=1)
    ]


async def test_an_older_finding_does_not_settle_a_newer_one(store: Store) -> None:
    asked, kept = await answered(store), store.corrections
    await kept.found("default", [], [replace(found(asked), found_at=LATER)])

    await kept.settle("default", found(asked), "told", LATER, "")

    assert len(await kept.due("default", LATER, 5)) == 1


async def test_a_withdrawn_question_leaves_no_words_and_gets_no_remark(store: Store) -> None:
    asked, kept = await answered(store), store.corrections
    await kept.watch("default", [quote(asked)])
    await store.work.cancel(asked.id)

    await kept.watch("default", [quote(asked)])
    await kept.found("default", [], [found(asked)])

    assert await kept.watched("default", "IT") == []
    assert await kept.due("default", LATER, 5) == []
    change = await kept.remark("default", asked.id, lambda told: with_correction(told, "x"))
    assert change is None


async def test_quotes_are_forgotten_after_their_time(store: Store) -> None:
    asked, kept = await answered(store), store.corrections
    await kept.watch("default", [quote(asked)])

    await kept.forget("default", NOW)
    assert await kept.spaces("default") == ["IT"]
    await kept.forget("default", LATER)
    assert await kept.spaces("default") == []


async def test_what_is_held_back_of_a_space_is_decided_together(store: Store) -> None:
    kept = store.corrections
    for name in ("m1", "m2"):
        held = replace(found(await answered(store, name)), state="held", due_at=None)
        await kept.found("default", [], [held])
    assert await kept.held("default") == {"IT": 2}

    assert await kept.decide("default", "HR", "due", LATER, "board:ada") == 0
    assert await kept.decide("default", "IT", "due", LATER, "board:ada") == 2

    assert await kept.held("default") == {}
    assert {each.found_at for each in await kept.due("default", LATER, 5)} == {LATER}
