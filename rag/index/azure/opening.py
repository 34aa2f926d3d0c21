"""Opens the index in Azure AI Search, or its next version, from the settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rag.config import SearchSettings
from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.azure.catalogue import Catalogue
from rag.index.azure.chunks import Chunks
from rag.index.azure.connection import Connection, Credential
from rag.index.azure.credentials import credential_of
from rag.index.azure.current import ASKED_EVERY_SECONDS, Current
from rag.index.azure.errors import IndexAbsent
from rag.index.azure.index import AzureIndex, Parts
from rag.index.azure.pages import Pages
from rag.index.azure.rebuild import Rebuild
from rag.index.azure.reranker import Reranker
from rag.index.azure.retriever import Retriever
from rag.index.azure.schema import SCHEMA
from rag.index.azure.versions import Versions
from rag.index.azure.writer import Writer
from rag.index.fusion import Weights
from rag.retrying import RetryPolicy
from rag.types import Fingerprint

__all__ = ["SCHEMA", "Opening", "open_azure_index", "open_azure_rebuild"]


@dataclass(frozen=True, slots=True)
class Opening:
    """What the settings do not say; ``policy`` None waits as long as is polite.

    ``may_be_absent``: an index that is not there yet is no error until it is used, so that a
    server may be there before the first run of the ingestion. ``authority`` is the file of who
    vouches for the service's certificate.
    """

    credential: Credential | None = None
    policy: RetryPolicy | None = None
    asked_every_seconds: float = ASKED_EVERY_SECONDS
    may_be_absent: bool = False
    authority: str | None = None


async def open_azure_index(
    settings: SearchSettings,
    expected: Fingerprint | None,
    *,
    create: bool,
    opening: Opening | None = None,
) -> AzureIndex:
    """Open the index that AZURE_SEARCH_* name; closing it closes the credential too.

    Args:
        settings: Which one, and how it is ordered.
        expected: What it must have been built with; None to use keywords alone.
        create: Make it where there is none, and write to it; this needs the role `Search Service
            Contributor`. Otherwise the role `Search Index Data Reader` is enough.
        opening: What the settings do not say.

    Raises:
        IndexMismatch: It was built with another embedder or schema, or is not ours.
        IndexUnavailable: It cannot be reached, or there is none.
    """
    _check_schema(expected)
    opening = opening or Opening()
    parts = _parts(settings, expected, opening)
    index = AzureIndex(replace(parts, writes=create), expected)
    try:
        if create:
            created = await parts.versions.create(settings.azure_search_index, expected)
            parts.current.know(created)
        await parts.current.facts()
    except IndexAbsent:
        if not opening.may_be_absent:
            await index.close()
            raise
    except BaseException:
        await index.close()
        raise
    return index


async def open_azure_rebuild(
    settings: SearchSettings, expected: Fingerprint, *, opening: Opening | None = None
) -> Rebuild:
    """Open the next version of the index, to be filled while the present one is read.

    Raises IndexUnavailable, IndexAbsent among them when there is no index to rebuild.
    """
    _check_schema(expected)
    name = settings.azure_search_index
    parts = _parts(settings, expected, opening or Opening())
    try:
        begun = await parts.versions.begin(name, expected)
    except BaseException:
        await parts.connection.close()
        raise
    current = Current(parts.connection, begun.index, expected)
    current.take(begun)
    return Rebuild(name, begun, replace(parts, current=current))


def _check_schema(expected: Fingerprint | None) -> None:
    if expected is not None and expected.schema != SCHEMA:
        raise IndexMismatch(
            f"Schema {expected.schema!r} was asked for, this program has {SCHEMA!r} in Azure."
        )


def _parts(settings: SearchSettings, expected: Fingerprint | None, opening: Opening) -> Parts:
    connection = _connection(settings, opening)
    writer = Writer(connection, opening.policy)
    name = settings.azure_search_index
    return Parts(
        connection=connection,
        current=Current(
            connection, name, expected, asked_every_seconds=opening.asked_every_seconds
        ),
        retriever=Retriever(connection, Reranker(wanted=settings.azure_search_semantic), Weights()),
        chunks=Chunks(connection),
        catalogue=Catalogue(connection),
        pages=Pages(connection, writer),
        versions=Versions(connection, writer, settings.azure_search_quantization),
        writes=True,
    )


def _connection(settings: SearchSettings, opening: Opening) -> Connection:
    endpoint = settings.azure_search_endpoint
    if endpoint is None:
        raise IndexUnavailable("AZURE_SEARCH_ENDPOINT is not set.")
    return Connection(
        endpoint,
        opening.credential or credential_of(endpoint, settings.azure_search_key),
        timeout_seconds=settings.azure_search_timeout_seconds,
        policy=opening.policy,
        authority=opening.authority,
    )
