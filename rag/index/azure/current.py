"""Which index a name stands for, and what was built in it: asked anew every minute."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rag.errors import IndexUnavailable
from rag.index.azure.connection import Connection
from rag.index.azure.documents import FACTS, PAGE, Facts, facts_of
from rag.index.azure.errors import IndexAbsent, TryAgain, mismatch
from rag.index.azure.filters import equals
from rag.index.azure.queries import count, find
from rag.types import Fingerprint

Result = TypeVar("Result")

ASKED_EVERY_SECONDS = 60.0


class Current:
    """The index behind a name, by its facts alone: whoever only reads has no right to more.

    The name is that of an alias, of an index that only points to another, or of the index itself.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        expected: Fingerprint | None,
        *,
        asked_every_seconds: float = ASKED_EVERY_SECONDS,
    ) -> None:
        self.name = name
        self._connection = connection
        self._expected = expected
        self._every = asked_every_seconds
        self._facts: Facts | None = None
        self._until = 0.0

    async def facts(self) -> Facts:
        """Return the facts of the index that is read and written now.

        Raises:
            IndexMismatch: It holds pages, built with something else than is expected.
            IndexUnavailable: It is not there (IndexAbsent), or cannot be asked.
        """
        now = asyncio.get_running_loop().time()
        if self._facts is None or now >= self._until:
            facts = await self._asked() or self._facts
            if facts is None:
                raise _unready(self.name)
            await self._check(facts)
            if facts.embedder or self._expected is None:
                self.take(facts)
            return facts
        return self._facts

    def take(self, facts: Facts) -> None:
        """Know these facts without asking, because they were just written."""
        self._facts = facts
        self._until = asyncio.get_running_loop().time() + self._every

    def know(self, facts: Facts) -> None:
        """Go by these facts as long as none are seen."""
        self._facts = facts

    async def used(self, use: Callable[[Facts], Awaitable[Result]]) -> Result:
        """Return what a use of the index comes to; once more when it was replaced meanwhile."""
        try:
            return await use(await self.facts())
        except IndexAbsent:
            self._until = 0.0
            return await use(await self.facts())

    async def _asked(self) -> Facts | None:
        """Return what is seen; None while what was written can't be seen yet, or for the moment."""
        try:
            return await read_facts(self._connection, self.name)
        except TryAgain:
            if self._facts is None:
                raise
            return None

    async def _check(self, facts: Facts) -> None:
        if self._expected is None or not facts.embedder or facts.fingerprint == self._expected:
            return
        if await count(self._connection, facts.index, equals("kind", PAGE)):
            raise mismatch(facts, self._expected)


async def read_facts(connection: Connection, name: str) -> Facts | None:
    """Return the facts behind a name, or None where there are none. Raises IndexUnavailable."""
    found = await find(
        connection,
        name,
        search_text="*",
        filter=equals("kind", FACTS),
        select=["version"],
        top=1,
    )
    return facts_of(found.documents[0]) if found.documents else None


def _unready(name: str) -> IndexUnavailable:
    return IndexUnavailable(
        f"The index {name!r} in Azure AI Search does not say what was built in it. Run the "
        "ingestion (`python -m ingestion sync`), or set AZURE_SEARCH_INDEX to a name of its own."
    )
