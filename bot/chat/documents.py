"""Ports to ingestion's document library and index runs; an alert for deletions held back.

Values and refusals are ingestion's own. Outages become the bot's errors, here and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, cast

import structlog

from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.domain.markdown import clip
from bot.domain.ports import Notes, TellsPeople
from bot.domain.texts import changed, tr
from bot.domain.texts.ingestion_texts import ingestion_text
from ingestion.errors import DocumentInTheWay, LedgerUnavailable, SourceUnavailable
from ingestion.library import Added, LibraryDocument, Space
from ingestion.records.types import Run
from ingestion.runs.schedule import Next
from rag.errors import RagError
from rag.types import Principal

SeenBy = frozenset[Principal] | None
"""The viewer's principals; None sees everything."""

NextRuns = Callable[[], Awaitable[Mapping[str, Next]]]
"""Returns the next scheduled run by space; a space that is never read by schedule is left out.

Raises ingestion.errors.DocumentInTheWay, StoreUnavailable.
"""


class Documents(Protocol):
    """The indexed documents; uploads can be added and removed: ingestion.library.Library.

    Raises ingestion.errors.DocumentRefused and its subclasses; StoreUnavailable.
    """

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]:
        """Return the spaces that hold a document visible to the viewer, by name."""
        ...

    async def documents(
        self,
        space: str,
        seen_by: SeenBy,
        *,
        words: str = "",
        after: str = "",
        limit: int = 50,
    ) -> Sequence[LibraryDocument]:
        """Return a space's documents by id: those after ``after`` that hold all ``words``."""
        ...

    async def document(self, space: str, document_id: str, seen_by: SeenBy) -> LibraryDocument:
        """Return one document. Raises DocumentUnknown."""
        ...

    async def at(self, urls: Sequence[str], seen_by: SeenBy) -> LibraryDocument | None:
        """Return the document at the first of these addresses that has one."""
        ...

    async def add(
        self,
        space: str,
        received: Path,
        *,
        name: str,
        readers: str,
        by: str,
        exact: bool = False,
        declared: bool = False,
    ) -> Added:
        """Add a file to a space and start indexing it; a document of the same name is replaced.

        With ``exact``, a name that does not fit the content is refused instead of changed. With
        ``declared``, the name has the extension of the format that the sender says its text is in.
        """
        ...

    async def remove(self, space: str, document_id: str, *, by: str) -> None:
        """Remove an uploaded document; it is not searchable from then on."""
        ...


class Reindex(Protocol):
    """Updates the index from its sources: ingestion.runs.background.Runs.

    At most one run at a time per space. Raises as Documents does.
    """

    async def start(
        self,
        space: str | None,
        *,
        by: str,
        dry_run: bool = False,
        allow_mass_delete: bool = False,
        extent: Literal["all", "changes"] = "all",
        page: str = "",
    ) -> str:
        """Start a run and return its id.

        It covers a space or all spaces, only changes since the last run, or one ``page`` by its
        address or id.
        """
        ...

    async def find_space(self, url: str) -> str | None:
        """Return the space of the page at an address, indexed or not; None if no source has it."""
        ...

    async def newest(self, limit: int) -> Sequence[Run]:
        """Return the last runs of all processes, newest first."""
        ...

    async def get(self, run_id: str) -> Run | None: ...

    async def cancel(self, run_id: str) -> None:
        """Cancel a run; what it has written stays. A run that has ended is no error."""
        ...


Service = TypeVar("Service")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def with_bot_errors(
    call: Callable[Arguments, Awaitable[Result]],
) -> Callable[Arguments, Awaitable[Result]]:
    """Wrap a call of ingestion so that an outage of source, index or disk is the bot's error."""

    @wraps(call)
    async def translated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return await call(*args, **kwargs)
        except SourceUnavailable as error:
            raise DocumentInTheWay(str(error)) from error
        except (LedgerUnavailable, RagError, OSError) as error:
            raise StoreUnavailable(str(error)) from error

    return translated


class _WithBotErrors:
    """Passes every call on to a service of ingestion, through ``with_bot_errors``."""

    def __init__(self, service: object) -> None:
        self._service = service

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any of the service's methods
        found = getattr(self._service, name)
        return with_bot_errors(found) if iscoroutinefunction(found) else found


def translated_service(service: Service) -> Service:
    """Return a service whose calls go through ``with_bot_errors``."""
    return cast("Service", _WithBotErrors(service))


_DEADLINE_SECONDS = 40.0
_WHY_LENGTH = 400

log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class MassDeleteAlert:
    """Post one alert per space, day and platform; a failed one is retried by the next such run.

    Args:
        tenant: Owner of the spaces.
        notes: Store of the alerts already sent.
        channels: Channels of all platforms; only those that implement `TellsPeople` are used.
        now: The clock.
    """

    def __init__(
        self,
        *,
        tenant: str,
        notes: Notes,
        channels: Sequence[object],
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._tenant = tenant
        self._notes = notes
        self._channels = [each for each in channels if isinstance(each, TellsPeople)]
        self._now = now

    async def __call__(self, space: str, why: str) -> None:
        """Post the alert on all platforms; never raises because of a platform."""
        text = mass_delete_text(space, why)
        for each in self._channels:
            try:
                await self._post(each, space, text)
            except (DeliveryFailed, StoreUnavailable, TimeoutError) as error:
                failure = {"platform": each.platform, "space": space, "why": str(error)}
                log.warning("held_back.not_told", **failure)

    async def _post(self, channel: TellsPeople, space: str, text: str) -> None:
        key = f"{channel.platform}:held-back:{space}:{self._now():%Y-%m-%d}"
        if not await self._notes.first(self._tenant, key):
            return
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await channel.tell_people(text)
        except (DeliveryFailed, TimeoutError):
            await self._notes.remove(self._tenant, key)
            raise


def mass_delete_text(space: str, why: str) -> str:
    """Return the text of the alert, as plain text."""
    return tr(
        "I stopped reading the space {space} and kept what I have of it. {reason}. If those pages "
        "should be removed, an admin can allow it: reindex {space} --allow-mass-delete. Otherwise "
        "check whether I can still read the space.",
        space=space,
        reason=changed(ingestion_text(why), _shortened),
    )


def _shortened(words: str) -> str:
    return clip(words, _WHY_LENGTH).rstrip(".")
