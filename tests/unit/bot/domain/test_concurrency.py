"""Tests of background tasks and of the cache with a time to live."""

from __future__ import annotations

import asyncio

import pytest

from bot.domain import concurrency as module
from bot.domain.concurrency import BackgroundTasks, TtlCache


class Oracle:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.now = 0.0
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def answer(self, key: str) -> str:
        self.asked.append(key)
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return key.upper()

    def remembered(self, most: int = 2) -> TtlCache[str]:
        return TtlCache(self.answer, seconds=10.0, most=most, clock=lambda: self.now)


async def test_an_answer_is_kept_for_its_time() -> None:
    oracle = Oracle()
    known = oracle.remembered()
    for now in (0.0, 9.9, 10.1):
        oracle.now = now
        assert await known.get("a") == "A"

    assert oracle.asked == ["a", "a"]


async def test_what_is_told_unasked_is_kept_as_long_and_counts_as_new() -> None:
    oracle = Oracle()
    known = oracle.remembered()
    for key in ("a", "b"):
        known.put(key, f"told {key}")
    known.put("a", "told again")
    known.put("c", "told c")
    assert [await known.get(key) for key in ("a", "c")] == ["told again", "told c"]
    assert oracle.asked == []

    oracle.now = 10.1
    assert await known.get("a") == "A"


async def test_many_who_ask_at_once_ask_once_and_one_may_leave() -> None:
    oracle = Oracle()
    known = oracle.remembered()
    oracle.may_answer.clear()
    waiting = [asyncio.create_task(known.get("a")) for _ in range(5)]
    await asyncio.sleep(0)
    waiting.pop(0).cancel()
    oracle.may_answer.set()

    assert await asyncio.gather(*waiting) == ["A"] * 4
    assert oracle.asked == ["a"]


async def test_an_error_reaches_all_and_is_not_kept() -> None:
    oracle = Oracle()
    known = oracle.remembered()
    oracle.error = OSError("down")
    for result in await asyncio.gather(known.get("a"), known.get("a"), return_exceptions=True):
        assert isinstance(result, OSError)
    oracle.error = None

    assert await known.get("a") == "A"


async def test_the_oldest_answers_are_forgotten() -> None:
    oracle = Oracle()
    known = oracle.remembered(most=2)
    for key in ("a", "b", "c", "b", "a"):
        await known.get(key)

    assert oracle.asked == ["a", "b", "c", "a"]


async def test_nobody_needs_to_wait_for_an_error() -> None:
    oracle = Oracle()
    known = oracle.remembered()
    oracle.may_answer.clear()
    oracle.error = OSError("down")
    only = asyncio.create_task(known.get("a"))
    await asyncio.sleep(0)
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    oracle.may_answer.set()
    await asyncio.sleep(0)
    oracle.error = None

    assert await known.get("a") == "A"


async def test_what_is_forgotten_is_asked_again_also_what_is_being_asked() -> None:
    oracle = Oracle()
    known = oracle.remembered()
    await known.get("a")
    oracle.may_answer.clear()
    early = asyncio.create_task(known.get("b"))
    await asyncio.sleep(0)
    known.forget()
    oracle.may_answer.set()

    assert await early == "B"
    assert [await known.get("a"), await known.get("b")] == ["A", "B"]
    assert oracle.asked == ["a", "b", "a", "b"]


async def test_what_is_short_is_finished() -> None:
    background, done = BackgroundTasks(), list[int]()

    async def short(number: int) -> None:
        await asyncio.sleep(0.01)
        done.append(number)

    for number in range(3):
        background.run(short(number), what="short")
    await background.finish()
    assert sorted(done) == [0, 1, 2]


async def test_what_is_late_has_ended_when_the_wait_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_STOP_SECONDS", 0.01)
    background, ended = BackgroundTasks(), asyncio.Event()

    async def late() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    background.run(late(), what="late")
    await background.finish()
    assert ended.is_set()
