"""Waits until something shows from outside, and counts what askers see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tests.bot.adapters.slack.server import FakeSlack
from tests.chaos.wiki import TOPICS
from tests.faults.channels import channel_of
from tests.faults.server import Client

_LOOK_SECONDS = 0.1


def question(number: int) -> tuple[str, str]:
    """Return a question's text and its ts, which also names its thread."""
    return TOPICS[number % len(TOPICS)].question, f"17{number:08d}.000100"


def mark(number: int) -> str:
    """Return the word that only the answer to a question shows."""
    return TOPICS[number % len(TOPICS)].mark


async def until(happened: Callable[[], bool], *, within_seconds: float) -> None:
    """Wait until something is so. Raises TimeoutError."""
    async with asyncio.timeout(within_seconds):
        while not happened():  # noqa: ASYNC110 - what happens is in other processes
            await asyncio.sleep(_LOOK_SECONDS)


async def until_found(look: Callable[[], Awaitable[bool]], *, within_seconds: float) -> None:
    """Wait until a look finds something. Raises TimeoutError."""
    async with asyncio.timeout(within_seconds):
        while not await look():  # noqa: ASYNC110 - as above
            await asyncio.sleep(_LOOK_SECONDS)


async def until_ready(asker: Client, url: str, *, within_seconds: float) -> dict[str, Any]:
    """Wait until the server says that it is ready; return what it says. Raises TimeoutError."""
    told: dict[str, Any] = {}

    async def ready() -> bool:
        nonlocal told
        status, told = await asker.get(f"{url}/ready")
        return status == 200

    await until_found(ready, within_seconds=within_seconds)
    return told


async def until_not_ready(asker: Client, url: str, *, within_seconds: float) -> str:
    """Wait until the server says that it is not ready; return what it says of its troubles."""
    told: dict[str, Any] = {}

    async def not_ready() -> bool:
        nonlocal told
        status, told = await asker.get(f"{url}/ready")
        return status == 503

    await until_found(not_ready, within_seconds=within_seconds)
    failed = [part for part in told["parts"] if part["state"] == "failed"]
    return " ".join(f"{part['name']}: {part['detail']} {part['cure'] or ''}" for part in failed)


def replies(slack: FakeSlack, numbers: Sequence[int]) -> dict[int, int]:
    """Return how many replies each question has that say what its answer says."""
    return {
        number: sum(mark(number) in post.shown for post in slack.in_thread(channel_of(ts), ts))
        for number in numbers
        for _, ts in [question(number)]
    }


def all_once(slack: FakeSlack, numbers: Sequence[int]) -> Callable[[], bool]:
    """Return a look that tells whether each question is answered, and once."""
    return lambda: set(replies(slack, numbers).values()) == {1}


async def until_indexed(asker: Client, url: str, space: str, documents: int) -> None:
    """Wait until a space holds so many documents. Raises TimeoutError."""

    async def all_there() -> bool:
        _, told = await asker.get(f"{url}/api/v1/documents/{space}")
        return len(told.get("documents", ())) == documents

    await until_found(all_there, within_seconds=30)


async def waiting_case(asker: Client, url: str) -> str:
    """Wait until one question has gone to people, and return its id."""
    found: list[dict[str, Any]] = []

    async def there() -> bool:
        _, told = await asker.get(f"{url}/api/v1/escalations")
        found[:] = told["escalations"]
        return bool(found)

    await until_found(there, within_seconds=10)
    return str(found[0]["interaction_id"])
