"""Opens what fills spaces, by the settings, for every process alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from ingestion.config import Settings
from ingestion.confluence.check import Check
from ingestion.errors import IngestionError
from ingestion.folder import LARGEST_FILE
from ingestion.records.opening import Records, records_of
from ingestion.sources import KnownSources, Sources, taken_line
from ingestion.uploads import Uploads


class OpenSources(Sources, Protocol):
    """Sources that hold connections; to be closed."""

    async def close(self) -> None: ...


def wiki_of(settings: Settings) -> OpenSources | None:
    """Return the spaces of the wiki that is set; None without one. Raises SettingInvalid."""
    if not settings.confluence_configured:
        return None
    # What is not configured is not imported.
    from ingestion.confluence.composition import confluence_of

    return confluence_of(settings)


async def check_wiki(settings: Settings) -> Sequence[Check]:
    """Try all that is done with the wiki that is set; nothing where none is."""
    if not settings.confluence_configured:
        return ()
    # As above.
    from ingestion.confluence.checks import check_confluence

    checks = await check_confluence(settings)
    taken = await _taken(settings)
    return [*checks, Check("Space keys", works=None, detail=taken_line(taken))] if taken else checks


async def _taken(settings: Settings) -> Sequence[str]:
    """Return the spaces of the wiki whose keys uploads or folders have, as far as can be told."""
    if not settings.data_dir.is_dir():
        return ()
    records = records_of(settings)
    try:
        async with open_sources(settings, records) as sources:
            return await sources.taken()
    except IngestionError:
        # Why that is so shows in other lines.
        return ()
    finally:
        records.close()


@asynccontextmanager
async def open_sources(
    settings: Settings, records: Records, largest: int = LARGEST_FILE
) -> AsyncIterator[KnownSources]:
    """Open all that fills spaces; files of up to ``largest`` bytes. Raises SettingInvalid."""
    wiki = wiki_of(settings)
    try:
        uploads = Uploads(settings.data_dir, settings.tenant, largest)
        yield KnownSources(uploads, records.ledger, wiki)
    finally:
        if wiki is not None:
            await wiki.close()
