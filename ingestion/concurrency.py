"""Run the same function for many items with bounded concurrency."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


async def for_each(
    items: Iterable[Item], work: Callable[[Item], Awaitable[None]], *, at_once: int
) -> None:
    """Await ``work`` for each item, at most ``at_once`` concurrently, started in order.

    Raises the first error of ``work`` unchanged; the calls still running are cancelled.
    """
    places = asyncio.Semaphore(at_once)

    async def do(item: Item) -> None:
        async with places:
            await work(item)

    try:
        async with asyncio.TaskGroup() as tasks:
            for item in items:
                tasks.create_task(do(item))
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from group
