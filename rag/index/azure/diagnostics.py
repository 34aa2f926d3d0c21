"""Try every operation that Frontdesk needs of a live service, for the doctor command."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from azure.search.documents.models import IndexDocumentsBatch

from rag.config import SearchSettings
from rag.errors import IndexUnavailable
from rag.index.azure.connection import (
    BAD_REQUEST,
    NO_RETRIES,
    Connection,
    IndexAbsent,
    RequestRefused,
    credential_of,
)
from rag.index.azure.documents import CHUNK, PAGE
from rag.index.azure.queries import MOST_SKIPPED, PAGE_SIZE, all_of, equals, find, string_literal
from rag.index.azure.retriever import RERANKER_SCORE
from rag.index.azure.schema import SEMANTIC
from rag.index.azure.terms import spelling_query
from rag.index.azure.versions import read_facts
from rag.retrying import RetryPolicy
from rag.types import Check

_UNUSED_ID = "frontdesk-doctor-nobodys-document"
_NO_RIGHTS = frozenset({401, 403})
_WORDS = "how do I get access"
_MISTYPED = "pasword"


async def check_service(
    settings: SearchSettings, *, policy: RetryPolicy | None = None
) -> tuple[Check, ...]:
    """Try every operation on the service without changing anything there."""
    endpoint = settings.azure_search_endpoint
    if endpoint is None:
        return ()
    try:
        credential = credential_of(endpoint, settings.azure_search_key)
    except IndexUnavailable as error:
        return (Check("search", works=False, detail=str(error)),)
    seconds = settings.azure_search_timeout_seconds
    connection = Connection(
        endpoint, credential, timeout_seconds=seconds, policy=policy or NO_RETRIES
    )
    try:
        return await _checks(connection, settings)
    finally:
        await connection.close()


async def _checks(connection: Connection, settings: SearchSettings) -> tuple[Check, ...]:
    name = settings.azure_search_index
    searched = await _try("search", lambda: _search(connection, name))
    checks = [searched]
    if searched.works:
        checks += [await _lists(connection, name), await _spelling(connection, name)]
    if searched.works and settings.azure_search_semantic:
        checks.append(await _try("semantic ranker", lambda: _rank(connection, name)))
    checks.append(await _try_write_right("definition", lambda: _define(connection, name)))
    checks.append(await _try_write_right("writing", lambda: _write(connection, name)))
    return tuple(checks)


async def _search(connection: Connection, name: str) -> str:
    facts = await read_facts(connection, name)
    if facts is None:
        raise IndexUnavailable(
            f"The index {name!r} does not say what was built in it. Run the ingestion, or set "
            "AZURE_SEARCH_INDEX to a name of its own."
        )
    started = time.perf_counter()
    await find(connection, name, search_text=_WORDS, filter=equals("kind", CHUNK), top=1)
    took = (time.perf_counter() - started) * 1000
    built = facts.embedder or "no vectors yet"
    return f"index {facts.index}, built with {built}; a search took {took:.0f} ms"


async def _rank(connection: Connection, name: str) -> str:
    try:
        found = await find(
            connection,
            name,
            search_text=_WORDS,
            filter=equals("kind", CHUNK),
            top=1,
            query_type="semantic",
            semantic_configuration_name=SEMANTIC,
            semantic_error_mode="partial",
        )
    except RequestRefused as error:
        raise IndexUnavailable(
            f"it answered {error.status}: choose a tier that has it and enable it (docs/azure.md), "
            "or set AZURE_SEARCH_SEMANTIC=false. Answers are ordered without it meanwhile."
        ) from None
    if found.partial or any(document.get(RERANKER_SCORE) is None for document in found.documents):
        reason = found.partial or "no scores"
        raise IndexUnavailable(
            f"it did not answer in time or has no room ({reason}); add replicas, or set "
            "AZURE_SEARCH_SEMANTIC=false. Answers are ordered without it meanwhile."
        )
    return "answers" if found.documents else "is there; nothing is indexed that it could order"


async def _lists(connection: Connection, name: str) -> Check:
    """Check text range filters, which are used to read long lists."""
    most = f"{MOST_SKIPPED + PAGE_SIZE:,}"
    beyond = all_of(equals("kind", PAGE), f"id gt {string_literal('0')}")
    try:
        await find(connection, name, search_text="*", filter=beyond, order_by=["id"], top=1)
    except RequestRefused as error:
        if error.status != BAD_REQUEST:
            return Check("lists", works=False, detail=str(error))
        told = (
            f"texts are not compared by order, so that lists are read by number: up to {most} "
            "pages of a space. Nothing is to be done while no space has more"
        )
        return Check("lists", works=None, detail=told)
    except IndexUnavailable as error:
        return Check("lists", works=False, detail=str(error))
    return Check("lists", works=True, detail="can be read to their end, however long")


async def _spelling(connection: Connection, name: str) -> Check:
    """Check fuzzy terms of the full query syntax, by which mistyped words are read."""
    query, chunks = spelling_query([_MISTYPED]), equals("kind", CHUNK)
    started = time.perf_counter()
    try:
        await find(connection, name, search_text=query, query_type="full", filter=chunks, top=1)
    except IndexUnavailable as error:
        told = f"mistyped words can't be looked up, questions are searched for as typed: {error}"
        return Check("spelling", works=None, detail=told)
    took = (time.perf_counter() - started) * 1000
    return Check("spelling", works=True, detail=f"words can be looked up; it took {took:.0f} ms")


async def _define(connection: Connection, name: str) -> str:
    async def read() -> str:
        return (await connection.definitions().get_index(name)).name

    await connection.call(name, read)
    return "can be read: this identity or key may also make and rebuild the index"


async def _write(connection: Connection, name: str) -> str:
    """Check write access by merging into a missing document: 404 means that writing is allowed."""

    async def merge() -> None:
        batch = IndexDocumentsBatch()
        batch.add_merge_actions([{"id": _UNUSED_ID}])
        await connection.documents(name).index_documents(batch)

    await connection.call(name, merge)
    return "is allowed: this identity or key may also index"


async def _try(name: str, work: Callable[[], Awaitable[str]]) -> Check:
    try:
        return Check(name, works=True, detail=await work())
    except IndexUnavailable as error:
        return Check(name, works=False, detail=str(error))


async def _try_write_right(name: str, work: Callable[[], Awaitable[str]]) -> Check:
    """Check an operation that only ingestion needs."""
    role = {
        "definition": "Search Service Contributor",
        "writing": "Search Index Data Contributor",
    }[name]
    try:
        return Check(name, works=True, detail=await work())
    except IndexAbsent as error:
        return Check(name, works=None, detail=str(error))
    except RequestRefused as error:
        if error.status in _NO_RIGHTS:
            detail = f"is not allowed; whoever indexes needs the role `{role}`, or an admin key"
            return Check(name, works=None, detail=detail)
        return Check(name, works=False, detail=str(error))
    except IndexUnavailable as error:
        return Check(name, works=False, detail=str(error))
