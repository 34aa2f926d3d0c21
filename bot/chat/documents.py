"""Interface to ingestion for board, API and commands: documents, spaces, runs and the schedule.

The values are Protocols that ingestion implements without knowing the bot; the wrappers below
turn its errors into the bot's own. Both go once bot may import ingestion.
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
"""The principals of who looks; None sees everything."""


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
        """Whether a run held back, or would, for too much of the space is gone."""
        ...


class Space(Protocol):
    """A space: how much of it is indexed, from where, and since when."""

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
        """Whether it is known what fills it."""
        ...

    @property
    def synced_at(self) -> datetime | None: ...
    @property
    def failures(self) -> Sequence[Failure]: ...


class Document(Protocol):
    """One document; ``state`` is "waiting" until what was sent last can be found."""

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
    """What became of an upload; ``run_id`` is the run that indexes it."""

    @property
    def space(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def replaced(self) -> bool: ...
    @property
    def run_id(self) -> str: ...


class Run(Protocol):
    """A run over one space, or with None over all, as far as it is."""

    @property
    def id(self) -> str: ...
    @property
    def space(self) -> str | None: ...
    @property
    def dry_run(self) -> bool: ...
    @property
    def by(self) -> str:
        """Who began it; "schedule" and "start" are nobody's names but the server's own."""
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
        """The address or id of the one page that it is over, "" for none."""
        ...

    @property
    def embedding(self) -> str:
        """What embedding takes or took, as a sentence; "" where that is nothing but time."""
        ...

    @property
    def resumed_as(self) -> Sequence[str]:
        """The runs that went on with it after it was interrupted."""
        ...


class Documents(Protocol):
    """What is indexed; uploads can be added and removed.

    Raises bot.domain.errors.DocumentRefused and its kinds; rag.errors.IndexUnavailable.
    """

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]:
        """Return the spaces that hold something to be seen, by name."""
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
        """Take a file into a space and have it indexed; one of the same name is replaced."""
        ...

    async def remove(self, space: str, document_id: str, *, by: str) -> None:
        """Remove an uploaded document; it can't be found from then on."""
        ...


class Reindex(Protocol):
    """Brings the index up to date with what fills it; one run at a time on a space.

    Raises bot.domain.errors.DocumentRefused and its kinds.
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
        """Begin a run; return its id.

        It is over a space or all, of it what changed since the last run, or over one ``page`` by
        its address or id.
        """
        ...

    async def find_space(self, url: str) -> str | None:
        """Return the space of the page at an address, indexed or not; None for no page of ours."""
        ...

    async def newest(self, limit: int) -> Sequence[Run]:
        """Return the last runs of all processes, newest first."""
        ...

    async def get(self, run_id: str) -> Run | None: ...

    async def cancel(self, run_id: str) -> None:
        """Stop a run; what is written stays. One that ended is no error."""
        ...


class NextPass(Protocol):
    """A run that the schedule begins next, and when at the earliest."""

    @property
    def extent(self) -> Literal["all", "changes", "page"]: ...
    @property
    def at(self) -> datetime: ...


class Schedule(Protocol):
    """What is read without anybody's order. Raises DocumentRefused and its kinds."""

    async def next_passes(self) -> Mapping[str, NextPass]:
        """Return the next run over each space; none where none ever is."""
        ...


ErrorTranslation = Mapping[type[Exception], type[BotError]]
"""Which errors of the implementation are which of the bot's; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class TranslatedDocuments:
    """Documents whose errors are the bot's own."""

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
    """Runs whose errors are the bot's own."""

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
    """A schedule whose errors are the bot's own."""

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
