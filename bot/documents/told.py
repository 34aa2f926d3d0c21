"""The errors of whoever looks after documents, as the bot's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bot.documents.documents import (
    Added,
    Document,
    Documents,
    NextPass,
    Reindex,
    Run,
    Schedule,
    SeenBy,
    Space,
)
from bot.errors import BotError

Translation = Mapping[type[Exception], type[BotError]]
"""Which errors of the implementation are which of the bot's; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class ToldDocuments:
    """Documents whose errors are the bot's own."""

    inner: Documents
    errors: Translation

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]:
        with _told(self.errors):
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
        with _told(self.errors):
            return await self.inner.documents(space, seen_by, words=words, after=after, limit=limit)

    async def document(self, space: str, document_id: str, seen_by: SeenBy) -> Document:
        with _told(self.errors):
            return await self.inner.document(space, document_id, seen_by)

    async def at(self, urls: Sequence[str], seen_by: SeenBy) -> Document | None:
        with _told(self.errors):
            return await self.inner.at(urls, seen_by)

    async def add(self, space: str, received: Path, *, name: str, readers: str, by: str) -> Added:
        with _told(self.errors):
            return await self.inner.add(space, received, name=name, readers=readers, by=by)

    async def remove(self, space: str, document_id: str, *, by: str) -> None:
        with _told(self.errors):
            await self.inner.remove(space, document_id, by=by)


@dataclass(frozen=True, slots=True)
class ToldReindex:
    """Runs whose errors are the bot's own."""

    inner: Reindex
    errors: Translation

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
        with _told(self.errors):
            return await self.inner.start(
                space,
                by=by,
                dry_run=dry_run,
                allow_mass_delete=allow_mass_delete,
                extent=extent,
                page=page,
            )

    async def find_space(self, url: str) -> str | None:
        with _told(self.errors):
            return await self.inner.find_space(url)

    async def newest(self, limit: int) -> Sequence[Run]:
        with _told(self.errors):
            return await self.inner.newest(limit)

    async def get(self, run_id: str) -> Run | None:
        with _told(self.errors):
            return await self.inner.get(run_id)

    async def cancel(self, run_id: str) -> None:
        with _told(self.errors):
            await self.inner.cancel(run_id)


@dataclass(frozen=True, slots=True)
class ToldSchedule:
    """A schedule whose errors are the bot's own."""

    inner: Schedule
    errors: Translation

    async def next_passes(self) -> Mapping[str, NextPass]:
        with _told(self.errors):
            return await self.inner.next_passes()


@contextmanager
def _told(errors: Translation) -> Iterator[None]:
    try:
        yield
    except tuple(errors) as error:
        kind = next(ours for theirs, ours in errors.items() if isinstance(error, theirs))
        raise kind(str(error)) from error
