"""What the pages need besides the inbox and the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from aiohttp import web

from bot.types import Interaction, Person, Thread
from rag.types import Chunk, Principal

Identify = Callable[[web.Request], Person]
"""Who is asking, as far as the doors vouch for it."""


class Conversations(Protocol):
    """Earlier exchanges of a conversation."""

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first."""
        ...


class StoredPages(Protocol):
    """The text of pages, for those who may read them."""

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        """Return a page's chunks in order; empty when there is none or it may not be read."""
        ...
