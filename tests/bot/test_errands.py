"""Errands: side by side, finished at the end, and never longer than that takes."""

from __future__ import annotations

import asyncio

import pytest

from bot.domain import concurrency as module
from bot.domain.concurrency import BackgroundTasks


async def test_what_is_short_is_finished() -> None:
    errands, done = BackgroundTasks(), list[int]()

    async def short(number: int) -> None:
        await asyncio.sleep(0.01)
        done.append(number)

    for number in range(3):
        errands.run(short(number), what="short")
    await errands.finish()
    assert sorted(done) == [0, 1, 2]


async def test_what_is_late_has_put_things_in_order_when_the_wait_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_STOP_SECONDS", 0.01)
    errands, ended = BackgroundTasks(), asyncio.Event()

    async def late() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    errands.run(late(), what="late")
    await errands.finish()
    assert ended.is_set()
