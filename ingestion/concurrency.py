"""Run the same work for many items, a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


async def for_each(
    items: Iterable[Item], work: Callable[[Item], Awaitable[None]], *, at_once: int
) -> None:
    """Do the work for each item, at most ``at_once`` side by side; begun in order.

    Raises the first error that the work raises, as it is; what else is under way ends by that.
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
