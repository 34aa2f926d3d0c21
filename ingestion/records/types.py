"""Values that the records store: runs, failures, sync states; all frozen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ingestion.embedding_usage import use_line
from ingestion.types import Extent
from rag.types import EmbeddingUse

State = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]
ACTIVE: frozenset[State] = frozenset({"waiting", "running"})


@dataclass(frozen=True, slots=True)
class Failure:
    """A page (or with ``page`` "" a whole space) that could not be read, why, and the remedy.

    ``mass_delete``: the run refused to remove, or would refuse to remove, too much of the space.
    """

    space: str
    page: str
    reason: str
    cure: str
    mass_delete: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A run over one space, or with None over all, and its progress.

    ``pages`` of ``total`` are done, which made ``chunks``; ``working_seconds`` counts from the
    first page. Of ``failed`` pages the first are in ``failures``. ``resumed_as`` are the runs that
    resumed it after an interruption. ``page`` is the address or id of the one page that a run of
    ``extent`` "page" covers. ``use`` is the embedding usage, or for a dry run its estimate;
    ``expected`` is the estimate made beforehand.
    """

    id: str
    space: str | None
    dry_run: bool
    allow_mass_delete: bool
    by: str
    state: State
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    at_space: str = ""
    pages: int = 0
    total: int = 0
    chunks: int = 0
    working_seconds: float = 0.0
    added: int = 0
    changed: int = 0
    removed: int = 0
    readers_changed: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    failures: tuple[Failure, ...] = ()
    resumed_as: tuple[str, ...] = ()
    extent: Extent = "all"
    page: str = ""
    use: EmbeddingUse | None = None
    expected: EmbeddingUse | None = None

    @property
    def active(self) -> bool:
        """Return whether it is waiting or working."""
        return self.state in ACTIVE

    @property
    def eventful(self) -> bool:
        """Return whether it changed anything, or has something to report."""
        changes = self.added + self.changed + self.removed + self.readers_changed
        return self.state != "done" or bool(changes or self.failed or self.failures)

    @property
    def embedding(self) -> str:
        """Return the embedding usage in tokens and dollars; "" where there is no cost."""
        if self.active and self.expected is not None:
            return use_line(self.expected, pages=self.total, dry_run=True)
        pages = self.added + self.changed
        return use_line(self.use, pages=pages, dry_run=self.dry_run)

    @property
    def chunks_per_second(self) -> float:
        return self.chunks / self.working_seconds if self.working_seconds else 0.0

    @property
    def remaining_seconds(self) -> float | None:
        """Return the estimated remaining time, by the pages so far; None before the first."""
        if not self.pages or not self.active:
            return None
        return self.working_seconds / self.pages * (self.total - self.pages)


@dataclass(frozen=True, slots=True)
class Retry:
    """A page that failed in the last ``tries`` runs that tried it."""

    page: str
    tries: int


@dataclass(frozen=True, slots=True)
class Synced:
    """The sync state of a space: the last successful run, when it began, and its failures.

    ``whole_at`` is when the last run over every page began. ``watermark`` is the source's, to list
    changes since; ``again`` are the pages that failed.
    """

    started_at: datetime
    ended_at: datetime
    failures: tuple[Failure, ...] = ()
    whole_at: datetime | None = None
    watermark: str = ""
    again: tuple[Retry, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A folder that fills a space, as given on the command line."""

    path: str
    readers: tuple[tuple[str, ...], ...]
    base_url: str | None = None
