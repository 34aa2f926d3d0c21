"""How fast a Confluence is asked: few requests at once, slower when it says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from ingestion.confluence.client.patience import TryAgain
from rag.retrying import Deadline

AT_ONCE = 4
"""Requests under way; Atlassian's own advice for crawlers, shared by all that use one client."""

SPACING_SECONDS = 1.0
"""Between two requests while the limit is near."""


class Pace:
    """Gives turns to requests; one for all requests to a site."""

    def __init__(self, *, at_once: int = AT_ONCE, spacing_seconds: float = SPACING_SECONDS) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._spacing_seconds = spacing_seconds
        self._near_limit = False
        self._due = 0.0

    @asynccontextmanager
    async def turn(self, deadline: Deadline) -> AsyncIterator[None]:
        """Wait for a turn. Raises TryAgain where it would come after the deadline."""
        async with self._places:
            await self._until_due(deadline)
            yield

    async def _until_due(self, deadline: Deadline) -> None:
        clock = asyncio.get_running_loop().time
        while (wait := self._due - clock()) > 0:
            if wait > deadline.remaining_seconds:
                raise TryAgain(
                    f"Confluence takes no request for another {wait:.0f} seconds.",
                    wait_seconds=wait,
                )
            await asyncio.sleep(wait)
        if self._near_limit:
            self._due = clock() + self._spacing_seconds

    def heard(self, headers: Mapping[str, str]) -> None:
        """Take note of an answer's headers: whether the limit is near."""
        self._near_limit = headers.get("X-RateLimit-NearLimit", "").lower() == "true"

    def hold(self, seconds: float) -> None:
        """Let no request begin for a while: Confluence asked for that."""
        self._due = max(self._due, asyncio.get_running_loop().time() + seconds)
