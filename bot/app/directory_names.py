"""Learn the names of people from the record and the directory file, so that they can be masked.

What platforms tell of people is learned where they are asked (bot.platforms); a process that has
just started knows by this who asked before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from aiohttp import web

from bot.domain.errors import BotError
from bot.store.database import Store
from bot.store.interactions import StoredAskers
from ingestion.config import Settings as IngestionSettings
from ingestion.errors import IngestionError
from rag.personal_data.names import DirectoryNames

ASKED_WITHIN = timedelta(days=365)
MOST_ASKERS = 2_000
"""Of each reading: the record is read while questions are answered."""
_HOUR_SECONDS = 3600.0
_SOON_SECONDS = 1.0
_ENTRA = "entra"

_log = structlog.get_logger(__name__)

ListPeople = Callable[[], Awaitable[Mapping[str, object]]]
"""Returns the people of the directory file by mail address. Raises IngestionError."""


class RecordedNames:
    """Learns names when the record is open, and again every hour.

    Args:
        names: Learns them.
        tenant: The company.
        askers: Those who asked before.
        listed: The directory file, None without one.
        is_open: Whether the record may be read.
    """

    def __init__(
        self,
        names: DirectoryNames,
        tenant: str,
        *,
        askers: StoredAskers,
        listed: ListPeople | None,
        is_open: Callable[[], bool],
    ) -> None:
        self._names = names
        self._tenant = tenant
        self._askers = askers
        self._listed = listed
        self._is_open = is_open
        self._read_at = datetime.now(UTC) - ASKED_WITHIN

    async def read(self) -> None:
        """Learn who asked within a year, then since the last time, and the file's people."""
        since, now = self._read_at, datetime.now(UTC)
        try:
            self._names.learn(await self._askers.names(self._tenant, since, MOST_ASKERS))
            self._read_at = now
            listed = await self._listed() if self._listed is not None else {}
        except (BotError, IngestionError) as error:
            _log.warning("names.not_read", why=str(error))
            return
        self._names.learn(map(name_of_address, listed))

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Learn names while an application runs."""
        keeping = asyncio.create_task(self._keep())
        yield
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping

    async def _keep(self) -> None:
        while True:
            opened = self._is_open()
            if opened:
                await self.read()
            await asyncio.sleep(_HOUR_SECONDS if opened else _SOON_SECONDS)


def mount_names(
    app: web.Application,
    names: DirectoryNames,
    tenant: str,
    store: Store,
    ingestion: IngestionSettings | None,
    *,
    is_open: Callable[[], bool],
) -> None:
    """Let names be learned while an application runs, as soon as the record may be read."""
    listed = directory_file(ingestion)
    recorded = RecordedNames(names, tenant, askers=store.askers, listed=listed, is_open=is_open)
    app.cleanup_ctx.append(recorded.running)


def name_of_address(email: str) -> str:
    """Return the name that a mail address is made of: "anna schmidt" of anna.schmidt@example.com.

    "" where there are not two words: "aschmidt" is nobody's name.
    """
    words = email.partition("@")[0].replace("_", ".").split(".")
    spelled = all(word.replace("-", "").isalpha() for word in words)
    return " ".join(words) if len(words) > 1 and spelled else ""


def directory_file(ingestion: IngestionSettings | None) -> ListPeople | None:
    """Return what lists the people of CONFLUENCE_DIRECTORY, None where that is no file."""
    named = None if ingestion is None else ingestion.confluence_directory
    if named is None or named.strip().casefold() == _ENTRA:
        return None
    # Imported only when Confluence is configured.
    from ingestion.confluence.people_file import PeopleFile

    return PeopleFile(Path(named)).people
