"""Makes indexes and gives them their name; only whoever writes has a right to that.

NAME is an alias of NAME-v1, NAME-v2 and so on. Where the service has no aliases NAME is an index
that holds nothing but the facts of the one that is meant. Whoever reads asks NAME for its facts
either way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchAlias, SearchIndex

from rag.errors import IndexMismatch
from rag.index.azure.connection import Connection
from rag.index.azure.current import read_facts
from rag.index.azure.documents import PAGE, Facts, facts_document
from rag.index.azure.errors import IndexAbsent, Refused, mismatch
from rag.index.azure.filters import equals
from rag.index.azure.names import FIRST, next_name, version_name, version_number
from rag.index.azure.permissions import FIELDS
from rag.index.azure.queries import count
from rag.index.azure.schema import SCHEMA, Quantization, definition
from rag.index.azure.writer import Change, Writer
from rag.types import Fingerprint

Result = TypeVar("Result")

_KEPT = timedelta(minutes=10)
"""For so long the former version stays, for those who have not asked for the new one yet."""

_SECONDS = 60.0
_FORBIDDEN = 403

_LOOKS, _LOOKED_EVERY_SECONDS = 20, 0.25
"""How long what was written may take to be seen."""


class Versions:
    """The versions of any name on one service."""

    def __init__(self, connection: Connection, writer: Writer, quantization: Quantization) -> None:
        self._connection = connection
        self._writer = writer
        self._quantization = quantization

    async def create(self, name: str, expected: Fingerprint | None) -> Facts:
        """Make the index where there is none; add the fields that it lacks where there is one.

        Who may write documents but change no definitions (no `Search Service Contributor`) takes
        an index that is there as it is. Raises IndexMismatch where the name is that of an index
        that is not ours.
        """
        facts = await self._own_facts(name)
        if facts is not None:
            await self._maintain(name, facts)
            return facts
        dimensions = expected.dimensions if expected else 0
        first = Facts(version_name(name, FIRST), dimensions=dimensions, schema=SCHEMA)
        await self._define(first.index, dimensions)
        await self._tell(first.index, first)
        await self._give(name, first)
        return first

    async def claim(self, name: str, facts: Facts, expected: Fingerprint) -> Facts:
        """Note whose vectors an index takes. Raises IndexMismatch when it has another's."""
        facts = await self._facts(name) or facts
        if facts.fingerprint == expected:
            return facts
        if facts.dimensions not in {0, expected.dimensions}:
            raise mismatch(facts, expected)
        if facts.embedder and await self._pages(facts.index):
            raise mismatch(facts, expected)
        claimed = replace(
            facts,
            embedder=expected.embedder,
            dimensions=expected.dimensions,
            schema=expected.schema,
        )
        if not facts.dimensions:
            await self._define(facts.index, expected.dimensions)
        await self._tell(facts.index, claimed)
        await self._tell(name, claimed)
        return claimed

    async def begin(self, name: str, expected: Fingerprint) -> Facts:
        """Make the next version, empty; one that was begun and fits is gone on with."""
        current = await self.current(name)
        index = next_name(name, current.index)
        begun = await self._facts(index)
        if begun is not None and begun.fingerprint == expected and not begun.complete:
            return begun
        await self._delete(index)
        await self._define(index, expected.dimensions)
        facts = Facts(
            index, expected.embedder, expected.dimensions, expected.schema, complete=False
        )
        await self._tell(index, facts)
        return facts

    async def finish(self, name: str, begun: Facts) -> Facts:
        """Let the name stand for a version that is whole now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        done = replace(begun, complete=True, since=now)
        await self._tell(done.index, done)
        await self._give(name, done)
        return done

    async def current(self, name: str) -> Facts:
        """Return the facts behind a name. Raises IndexAbsent when there are none."""
        facts = await read_facts(self._connection, name)
        if facts is None:
            raise IndexAbsent(f"The index {name!r} in Azure AI Search does not say what it is.")
        return facts

    async def _maintain(self, name: str, facts: Facts) -> None:
        try:
            await self._define(facts.index, facts.dimensions)
            await self._sweep(name, facts)
        except Refused as refused:
            if refused.status != _FORBIDDEN or facts.schema != SCHEMA:
                raise

    async def _give(self, name: str, facts: Facts) -> None:
        alias = SearchAlias(name=name, indexes=[facts.index])
        try:
            await self._call(name, lambda client: client.create_or_update_alias(alias))
        except (Refused, IndexAbsent):
            # No aliases here, or the name is that of an index that points already.
            await self._define(name, 0)
            await self._tell(name, facts)

    async def _define(self, index: str, dimensions: int) -> None:
        """Make an index, or add what it lacks; what it has is left as it is."""
        wanted = definition(index, dimensions=dimensions, quantization=self._quantization)
        try:
            kept = await self._call(index, lambda client: client.get_index(index))
        except IndexAbsent:
            await self._call(index, lambda client: client.create_or_update_index(wanted))
            return
        known = {field.name for field in kept.fields}
        added = [field for field in wanted.fields if field.name not in known]
        if added:
            kept.fields = [*kept.fields, *added]
            kept.vector_search = kept.vector_search or wanted.vector_search
            await self._call(index, lambda client: client.create_or_update_index(kept))

    async def _own_facts(self, name: str) -> Facts | None:
        """Return the facts behind a name; raise IndexMismatch where it is not ours."""
        try:
            facts = await self._facts(name)
        except Refused:
            await self._is_there(name)
            raise
        if facts is None and await self._is_there(name):
            # Made a moment ago: to write anew what can't be seen yet would undo a claim.
            return await self._awaited(name)
        return facts

    async def _awaited(self, name: str) -> Facts | None:
        for _ in range(_LOOKS):
            await asyncio.sleep(_LOOKED_EVERY_SECONDS)
            facts = await self._facts(name)
            if facts is not None:
                return facts
        return None

    async def _is_there(self, name: str) -> bool:
        """Whether there is an index; raise IndexMismatch where it is not ours."""
        try:
            kept = await self._call(name, lambda client: client.get_index(name))
        except IndexAbsent:
            return False
        if not _ours(kept):
            raise IndexMismatch(
                f"There is an index {name!r} in Azure AI Search that Frontdesk did not make; set "
                "AZURE_SEARCH_INDEX to another name."
            )
        return True

    async def _sweep(self, name: str, facts: Facts) -> None:
        """Delete former versions, once nobody reads them any more."""
        number = version_number(name, facts.index) or FIRST
        if number == FIRST or not _long_ago(facts.since):
            return
        for index in await self._call(name, _index_names):
            if (version_number(name, index) or number) < number:
                await self._delete(index)

    async def _delete(self, index: str) -> None:
        await self._call(index, lambda client: client.delete_index(index))

    async def _facts(self, name: str) -> Facts | None:
        try:
            return await read_facts(self._connection, name)
        except IndexAbsent:
            return None

    async def _pages(self, index: str) -> int:
        return await count(self._connection, index, equals("kind", PAGE))

    async def _tell(self, index: str, facts: Facts) -> None:
        await self._writer.write(index, [Change("upload", facts_document(facts))])

    async def _call(
        self, index: str, ask: Callable[[SearchIndexClient], Awaitable[Result]]
    ) -> Result:
        client = self._connection.definitions()
        return await self._connection.call(index, lambda: ask(client), seconds=_SECONDS)


async def _index_names(client: SearchIndexClient) -> list[str]:
    return [name async for name in client.list_index_names()]


def _ours(index: SearchIndex) -> bool:
    return {"kind", "readers", *FIELDS} <= {field.name for field in index.fields}


def _long_ago(since: str) -> bool:
    return not since or datetime.now(UTC) - datetime.fromisoformat(since) > _KEPT
