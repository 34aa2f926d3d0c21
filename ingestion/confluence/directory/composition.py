"""Opens the directory that the settings name."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from ingestion.config import Settings
from ingestion.confluence.directory.finding import (
    Finds,
    FirstOf,
    GroupIds,
    InEntra,
    Listed,
    Shown,
)
from ingestion.confluence.directory.people_file import PeopleFile
from ingestion.confluence.ports import Wiki

ENTRA = "entra"


@asynccontextmanager
async def open_finder(
    settings: Settings, wiki: Wiki, *, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[Finds]:
    """Open who looks people up: what CONFLUENCE_DIRECTORY names first, then Confluence itself."""
    named = settings.confluence_directory
    ids = GroupIds(wiki, seconds=settings.confluence_directory_minutes * 60, clock=clock)
    async with AsyncExitStack() as closing:
        if named is None:
            yield Shown(wiki)
        elif named.strip().casefold() == ENTRA:
            yield FirstOf([_in_entra(wiki, ids, closing), Shown(wiki)])
        else:
            yield FirstOf([Listed(PeopleFile(Path(named)), wiki, ids), Shown(wiki)])


def _in_entra(wiki: Wiki, ids: GroupIds, closing: AsyncExitStack) -> InEntra:
    # What is not configured is not imported.
    from ingestion.confluence.directory.graph import Graph
    from ingestion.confluence.directory.graph_token import GraphToken

    token = GraphToken()
    graph = Graph(token)
    closing.push_async_callback(token.close)
    closing.push_async_callback(graph.close)
    return InEntra(graph, wiki, ids)
