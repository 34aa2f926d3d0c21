"""What a platform waits for goes before the backlog of a start."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from bot.store.database import Store
from tests.builders import message

BACKLOG = 40
LATER = message("Is it Monday?", message_id="m2", platform="slack")
ASKED = message("Is it Friday?", message_id="m1", platform="slack")

Waited = Callable[[Store], Awaitable[object]]

WAITED: dict[str, Waited] = {
    "accepted": lambda store: store.work.open(LATER, "here"),
    "edited": lambda store: store.work.amend(replace(ASKED, text="Is it Sunday?")),
    "withdrawn": lambda store: store.work.cancel(ASKED.interaction_id),
}


@pytest.mark.parametrize("waited", WAITED.values(), ids=WAITED)
async def test_a_message_is_not_held_up_by_what_is_taken_up_again(
    waited: Waited, store: Store
) -> None:
    await store.work.open(ASKED, "dead")
    done: list[str] = []

    async def noted(name: str, work: Awaitable[object]) -> None:
        await work
        done.append(name)

    taken_up = (noted("work", store.work.get(ASKED.interaction_id)) for _ in range(BACKLOG))
    await asyncio.gather(*taken_up, noted("message", waited(store)))

    assert done.index("message") <= BACKLOG // 4
