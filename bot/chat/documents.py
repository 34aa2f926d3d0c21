"""Interface to ingestion for board, API and commands: documents, spaces, runs and the schedule.

The values are Protocols that ingestion implements without importing the bot; the wrappers below
translate its errors into the bot's. Both can go once bot may import ingestion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from bot.domain.errors import BotError
from rag.types import Principal

SeenBy = frozenset[Principal] | None
"""The viewer's principals; None sees everything."""


class Failure(Protocol):
    """A page (or with ``page`` "" a whole space) that could not be read, why, and the cure."""

    @property
    def space(self) -> str: ...
    @property
    def page(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def cure(self) -> str: ...
    @property
    def mass_delete(self) -> bool:
        """Whether the run would delete too much of the space, and therefore stopped."""
        ...


class Space(Protocol):
    """A space: the number of its indexed pages and chunks, its source, and its last sync."""

    @property
    def name(self) -> str: ...
    @property
    def pages(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    @property
    def source(self) -> str:
        """The kind of source ("upload", "folder")."""
        ...

    @property
    def takes_uploads(self) -> bool: ...
    @property
    def reindexable(self) -> bool:
        """Whether the source of the space is known."""
        ...

    @property
    def synced_at(self) -> datetime | None: ...
    @property
    def failures(self) -> Sequence[Failure]: ...


class Document(Protocol):
    """One document; ``state`` is "waiting" until the last upload is searchable."""

    @property
    def space(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def readers(self) -> str: ...
    @property
    def chunks(self) -> int: ...
    @property
    def source(self) -> str: ...
    @property
    def state(self) -> Literal["indexed", "waiting", "failed"]: ...
    @property
    def updated_at(self) -> datetime | None: ...
    @property
    def uploaded_at(self) -> datetime | None: ...
    @property
    def uploaded_by(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def cure(self) -> str: ...
    @property
    def removable(self) -> bool: ...


class Added(Protocol):
    """The result of an upload; ``run_id`` is the run that indexes it."""

    @property
    def space(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def replaced(self) -> bool: ...
    @property
    def run_id(self) -> str: ...


class Run(Protocol):
    """A run over one space, or all spaces (None), with its progress."""

    @property
    def id(self) -> str: ...
    @property
    def space(self) -> str | None: ...
    @property
    def dry_run(self) -> bool: ...
    @property
    def by(self) -> str:
        """Who started it; "schedule" and "start" stand for the server itself."""
        ...

    @property
    def state(
        self,
    ) -> Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]: ...
    @property
    def active(self) -> bool: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def started_at(self) -> datetime | None: ...
    @property
    def ended_at(self) -> datetime | None: ...
    @property
    def at_space(self) -> str: ...
    @property
    def pages(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    @property
    def chunks_per_second(self) -> float: ...
    @property
    def remaining_seconds(self) -> float | None: ...
    @property
    def added(self) -> int: ...
    @property
    def changed(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def readers_changed(self) -> int: ...
    @property
    def unchanged(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def failures(self) -> Sequence[Failure]: ...
    @property
    def extent(self) -> Literal["all", "changes", "page"]:
        """How much of the space it looks at."""
        ...

    @property
    def page(self) -> str:
        """Address or id of the page if the run covers one page, else ""."""
        ...

    @property
    def embedding(self) -> str:
        """Cost of embedding as a sentence; "" if it costs nothing but time."""
        ...

    @property
    def resumed_as(self) -> Sequence[str]:
        """The runs that resumed this one after an interruption."""
        ...


class Documents(Protocol):
    """The indexed documents; uploads can be added and removed.

    Raises bot.domain.errors.DocumentRefused and its subclasses; rag.errors.IndexUnavailable.
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
    ) -> Sequence[Document]:
        """Return a space's documents by id: those after ``after`` that hold all ``words``."""
        ...

    async def document(self, space: str, document_id: str, seen_by: SeenBy) -> Document:
        """Return one document. Raises DocumentUnknown."""
        ...

    async def at(self, urls: Sequence[str], seen_by: SeenBy) -> Document | None:
        """Return the document at the first of these addresses that has one."""
        ...

    async def add(self, space: str, received: Path, *, name: str, readers: str, by: str) -> Added:
        """Add a file to a space and start indexing it; a document of the same name is replaced."""
        ...

    async def remove(self, space: str, document_id: str, *, by: str) -> None:
        """Remove an uploaded document; it is not searchable from then on."""
        ...


class Reindex(Protocol):
    """Updates the index from its sources; at most one run at a time per space.

    Raises bot.domain.errors.DocumentRefused and its subclasses.
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


class NextPass(Protocol):
    """The next scheduled run of a space, and its earliest time."""

    @property
    def extent(self) -> Literal["all", "changes", "page"]: ...
    @property
    def at(self) -> datetime: ...


class Schedule(Protocol):
    """The schedule of automatic runs. Raises DocumentRefused and its subclasses."""

    async def next_passes(self) -> Mapping[str, NextPass]:
        """Return the next run by space; a space that is never read by schedule is left out."""
        ...


ErrorTranslation = Mapping[type[Exception], type[BotError]]
"""Maps the implementation's errors to the bot's; the first match counts."""


@dataclass(frozen=True, slots=True)
class TranslatedDocuments:
    """Documents whose errors are translated into the bot's. Implements `Documents`."""

    inner: Documents
    errors: ErrorTranslation

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]:
        with _translating(self.errors):
            return await self.inner.spaces(seen_by)

    async def documents(
        self,
        space: str,
        seen_by: SeenBy,
        *,
        words: str = "",
        after: str = "",
        limit: int = 50,
    ) -> Sequence[Document]:
        with _translating(self.errors):
            return await self.inner.documents(space, seen_by, words=words, after=after, limit=limit)

    async def document(self, space: str, document_id: str, seen_by: SeenBy) -> Document:
        with _translating(self.errors):
            return await self.inner.document(space, document_id, seen_by)

    async def at(self, urls: Sequence[str], seen_by: SeenBy) -> Document | None:
        with _translating(self.errors):
            return await self.inner.at(urls, seen_by)

    async def add(self, space: str, received: Path, *, name: str, readers: str, by: str) -> Added:
        with _translating(self.errors):
            return await self.inner.add(space, received, name=name, readers=readers, by=by)

    async def remove(self, space: str, document_id: str, *, by: str) -> None:
        with _translating(self.errors):
            await self.inner.remove(space, document_id, by=by)


@dataclass(frozen=True, slots=True)
class TranslatedReindex:
    """Index runs whose errors are translated into the bot's. Implements `Reindex`."""

    inner: Reindex
    errors: ErrorTranslation

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
        with _translating(self.errors):
            return await self.inner.start(
                space,
                by=by,
                dry_run=dry_run,
                allow_mass_delete=allow_mass_delete,
                extent=extent,
                page=page,
            )

    async def find_space(self, url: str) -> str | None:
        with _translating(self.errors):
            return await self.inner.find_space(url)

    async def newest(self, limit: int) -> Sequence[Run]:
        with _translating(self.errors):
            return await self.inner.newest(limit)

    async def get(self, run_id: str) -> Run | None:
        with _translating(self.errors):
            return await self.inner.get(run_id)

    async def cancel(self, run_id: str) -> None:
        with _translating(self.errors):
            await self.inner.cancel(run_id)


@dataclass(frozen=True, slots=True)
class TranslatedSchedule:
    """A schedule whose errors are translated into the bot's. Implements `Schedule`."""

    inner: Schedule
    errors: ErrorTranslation

    async def next_passes(self) -> Mapping[str, NextPass]:
        with _translating(self.errors):
            return await self.inner.next_passes()


@contextmanager
def _translating(errors: ErrorTranslation) -> Iterator[None]:
    try:
        yield
    except tuple(errors) as error:
        kind = next(ours for theirs, ours in errors.items() if isinstance(error, theirs))
        raise kind(str(error)) from error
