"""Resolve the index behind a name, and create, switch and delete its versions.

NAME is an alias of NAME-v1, NAME-v2 and so on. Where the service has no aliases, NAME is an index
that holds only the facts of the current one. Readers request the facts from NAME either way, again
every minute; only writers have the right to create indexes and aliases.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchAlias, SearchIndex

from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.azure.connection import (
    Connection,
    IndexAbsent,
    RequestRefused,
    TryAgain,
    index_mismatch,
)
from rag.index.azure.documents import FACTS, PAGE, Facts, facts_document, facts_of
from rag.index.azure.queries import count, equals, find
from rag.index.azure.schema import READER_FIELDS, SCHEMA, Quantization, index_definition
from rag.index.azure.writer import BatchWriter, Change
from rag.types import Fingerprint

_VERSION = re.compile(r"^(?P<name>.+)-v(?P<number>[1-9]\d*)$")

FIRST_VERSION = 1


def version_name(name: str, number: int) -> str:
    """Return the name of a version's own index."""
    return f"{name}-v{number}"


def version_number(name: str, index: str) -> int | None:
    """Return the version number in an index's name, or None when it is no version of ``name``."""
    found = _VERSION.match(index)
    return int(found["number"]) if found and found["name"] == name else None


def next_name(name: str, index: str) -> str:
    """Return the name of the version after an index."""
    return version_name(name, (version_number(name, index) or 0) + 1)


Result = TypeVar("Result")

REFRESH_SECONDS = 60.0


class CurrentIndex:
    """The index behind a name, identified by its facts: readers have no right to more.

    The name is that of an alias, of an index that only points to another, or of the index itself.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        expected: Fingerprint | None,
        *,
        refresh_seconds: float = REFRESH_SECONDS,
    ) -> None:
        self.name = name
        self._connection = connection
        self._expected = expected
        self._refresh_seconds = refresh_seconds
        self._facts: Facts | None = None
        self._until = 0.0

    async def facts(self) -> Facts:
        """Return the facts of the current index.

        Raises:
            IndexMismatch: It holds pages built with another embedder or schema than expected.
            IndexUnavailable: It is missing (IndexAbsent), or cannot be reached.
        """
        now = asyncio.get_running_loop().time()
        if self._facts is None or now >= self._until:
            facts = await self._read() or self._facts
            if facts is None:
                raise _no_facts_error(self.name)
            await self._check(facts)
            if facts.embedder or self._expected is None:
                self.cache(facts)
            return facts
        return self._facts

    def cache(self, facts: Facts) -> None:
        """Cache these facts without a request, because they were just written."""
        self._facts = facts
        self._until = asyncio.get_running_loop().time() + self._refresh_seconds

    def use_until_read(self, facts: Facts) -> None:
        """Use these facts until others are read."""
        self._facts = facts

    async def run(self, call: Callable[[Facts], Awaitable[Result]]) -> Result:
        """Return the result of a call with the index; retry once when it was replaced meanwhile."""
        try:
            return await call(await self.facts())
        except IndexAbsent:
            self._until = 0.0
            return await call(await self.facts())

    async def _read(self) -> Facts | None:
        """Return the facts as read; None if they are not visible yet, or on a transient error."""
        try:
            return await read_facts(self._connection, self.name)
        except TryAgain:
            if self._facts is None:
                raise
            return None

    async def _check(self, facts: Facts) -> None:
        if self._expected is None or not facts.embedder or facts.fingerprint == self._expected:
            return
        if await _page_count(self._connection, facts.index):
            raise index_mismatch(facts, self._expected)


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


async def _page_count(connection: Connection, index: str) -> int:
    return await count(connection, index, equals("kind", PAGE))


def _no_facts_error(name: str) -> IndexUnavailable:
    return IndexUnavailable(
        f"The index {name!r} in Azure AI Search does not say what was built in it. Run the "
        "ingestion (`python -m ingestion sync`), or set AZURE_SEARCH_INDEX to a name of its own."
    )


_FORMER_KEPT_FOR = timedelta(minutes=10)
"""How long the former version is kept for readers that have not switched yet."""

_REQUEST_SECONDS = 60.0
_FORBIDDEN = 403

_POLLS, _POLL_SECONDS = 20, 0.25
"""How often, and at which interval, written documents are checked for visibility."""


class Versions:
    """Manages the versions of any index name on one service."""

    def __init__(
        self, connection: Connection, writer: BatchWriter, quantization: Quantization
    ) -> None:
        self._connection = connection
        self._writer = writer
        self._quantization = quantization

    async def create(self, name: str, expected: Fingerprint | None) -> Facts:
        """Create the index where it is missing; add missing fields to an existing one.

        A writer of documents without the right to change definitions (no `Search Service
        Contributor`) uses an existing index as it is. Raises IndexMismatch where the index of this
        name is not Frontdesk's.
        """
        facts = await self._our_facts(name)
        if facts is not None:
            await self._maintain(name, facts)
            return facts
        dimensions = expected.dimensions if expected else 0
        first = Facts(version_name(name, FIRST_VERSION), dimensions=dimensions, schema=SCHEMA)
        await self._define(first.index, dimensions)
        await self._write_facts(first.index, first)
        await self._point_to(name, first)
        return first

    async def claim(self, name: str, facts: Facts, expected: Fingerprint) -> Facts:
        """Store which embedder's vectors an index takes. Raises IndexMismatch for another's."""
        facts = await self._facts(name) or facts
        if facts.fingerprint == expected:
            return facts
        if facts.dimensions not in {0, expected.dimensions}:
            raise index_mismatch(facts, expected)
        if facts.embedder and await _page_count(self._connection, facts.index):
            raise index_mismatch(facts, expected)
        claimed = replace(
            facts,
            embedder=expected.embedder,
            dimensions=expected.dimensions,
            schema=expected.schema,
        )
        if not facts.dimensions:
            await self._define(facts.index, expected.dimensions)
        await self._write_facts(facts.index, claimed)
        await self._write_facts(name, claimed)
        return claimed

    async def begin(self, name: str, expected: Fingerprint) -> Facts:
        """Create the next version, empty; an unfinished one that fits is continued."""
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
        await self._write_facts(index, facts)
        return facts

    async def finish(self, name: str, begun: Facts) -> Facts:
        """Make a completed version the current one."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        done = replace(begun, complete=True, since=now)
        await self._write_facts(done.index, done)
        await self._point_to(name, done)
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
            await self._delete_former(name, facts)
        except RequestRefused as refused:
            if refused.status != _FORBIDDEN or facts.schema != SCHEMA:
                raise

    async def _point_to(self, name: str, facts: Facts) -> None:
        alias = SearchAlias(name=name, indexes=[facts.index])
        try:
            await self._call(name, lambda client: client.create_or_update_alias(alias))
        except (RequestRefused, IndexAbsent):
            # The service has no aliases, or the name is already that of a pointing index.
            await self._define(name, 0)
            await self._write_facts(name, facts)

    async def _define(self, index: str, dimensions: int) -> None:
        """Create an index, or add missing fields; existing fields are left as they are."""
        wanted = index_definition(index, dimensions=dimensions, quantization=self._quantization)
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

    async def _our_facts(self, name: str) -> Facts | None:
        """Return the facts behind a name. Raises IndexMismatch where it is not Frontdesk's."""
        try:
            facts = await self._facts(name)
        except RequestRefused:
            await self._exists(name)
            raise
        if facts is None and await self._exists(name):
            # The index may be new: rewriting facts that are not visible yet would undo a claim.
            return await self._wait_for_facts(name)
        return facts

    async def _wait_for_facts(self, name: str) -> Facts | None:
        for _ in range(_POLLS):
            await asyncio.sleep(_POLL_SECONDS)
            facts = await self._facts(name)
            if facts is not None:
                return facts
        return None

    async def _exists(self, name: str) -> bool:
        """Return whether the index exists. Raises IndexMismatch where it is not Frontdesk's."""
        try:
            kept = await self._call(name, lambda client: client.get_index(name))
        except IndexAbsent:
            return False
        if not _is_ours(kept):
            raise IndexMismatch(
                f"There is an index {name!r} in Azure AI Search that Frontdesk did not make; set "
                "AZURE_SEARCH_INDEX to another name."
            )
        return True

    async def _delete_former(self, name: str, facts: Facts) -> None:
        """Delete former versions, once no reader uses them any more."""
        number = version_number(name, facts.index) or FIRST_VERSION
        if number == FIRST_VERSION or not _long_ago(facts.since):
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

    async def _write_facts(self, index: str, facts: Facts) -> None:
        await self._writer.write(index, [Change("upload", facts_document(facts))])

    async def _call(
        self, index: str, ask: Callable[[SearchIndexClient], Awaitable[Result]]
    ) -> Result:
        client = self._connection.definitions()
        return await self._connection.call(index, lambda: ask(client), seconds=_REQUEST_SECONDS)


async def _index_names(client: SearchIndexClient) -> list[str]:
    return [name async for name in client.list_index_names()]


def _is_ours(index: SearchIndex) -> bool:
    return {"kind", "readers", *READER_FIELDS} <= {field.name for field in index.fields}


def _long_ago(since: str) -> bool:
    return not since or datetime.now(UTC) - datetime.fromisoformat(since) > _FORMER_KEPT_FOR
