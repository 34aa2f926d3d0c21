"""What the pages need besides the inbox and the record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from aiohttp import web

from bot.domain.record_search import FoundQuestion, ThreadSummary
from bot.domain.types import Interaction, InteractionId, Person, Thread
from rag.types import Chunk, Principal

Identify = Callable[[web.Request], Person]
"""Who is asking, as far as the doors vouch for it."""


class Conversations(Protocol):
    """Earlier exchanges of a conversation."""

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first."""
        ...


class Threads(Protocol):
    """What one person asked before. ``place`` is any thread of theirs; withdrawn ones are left out.

    Raises bot.domain.errors.StoreUnavailable.
    """

    async def newest(
        self, place: Thread, limit: int, after: str | None = None
    ) -> Sequence[ThreadSummary]:
        """Return the conversations last written to, newest first; after the one with that id."""
        ...

    async def matching(
        self, place: Thread, words: str, limit: int, after: str | None = None
    ) -> Sequence[FoundQuestion]:
        """Return the questions that have all the words, newest first; after the one with that id.

        A question is found once it is answered.
        """
        ...

    async def questions(self, thread: Thread) -> Sequence[InteractionId]:
        """Return every question of a conversation, oldest first."""
        ...


class StoredPages(Protocol):
    """The text of pages, for those who may read them."""

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        """Count chunks by space. Raises rag.errors.IndexUnavailable."""
        ...

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        """Return a page's chunks in order; empty when there is none or it may not be read."""
        ...
