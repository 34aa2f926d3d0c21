"""Documents and runs in memory, for tests of what is built on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from bot.chat.documents import SeenBy
from bot.domain.errors import DocumentInTheWay, DocumentRefused, DocumentUnknown
from bot.domain.ports import Audits
from bot.web import api
from bot.web.forms import upload_limits
from ingestion.library import Added, LibraryDocument, Space
from ingestion.records.types import Failure, Run
from rag.types import EVERYONE

WHEN = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
RUN = Run(
    id="r1",
    space="HR",
    dry_run=False,
    allow_mass_delete=False,
    by="anna",
    state="done",
    created_at=WHEN,
    started_at=WHEN,
    ended_at=WHEN,
)


class Shelf:
    """Implements Documents and Reindex: what is added is indexed at once; FOLDER takes nothing."""

    def __init__(self, *runs: Run) -> None:
        self.kept: dict[tuple[str, str], LibraryDocument] = {}
        self.contents: dict[tuple[str, str], bytes] = {}
        self.runs = list(runs)
        self.failures: tuple[Failure, ...] = ()

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]:
        names = sorted({space for space, _ in self.kept})
        held = {name: len(await self.documents(name, seen_by)) for name in names}
        return [self._space(name, pages) for name, pages in held.items() if pages]

    async def documents(
        self,
        space: str,
        seen_by: SeenBy,
        *,
        words: str = "",
        after: str = "",
        limit: int = 50,
    ) -> Sequence[LibraryDocument]:
        found = [
            document
            for (owner, name), document in sorted(self.kept.items())
            if owner == space and name > after and _seen(document, seen_by)
            if all(word.lower() in name.lower() for word in words.split())
        ]
        return found[:limit]

    async def document(self, space: str, document_id: str, seen_by: SeenBy) -> LibraryDocument:
        document = self.kept.get((space, document_id))
        if document is None or not _seen(document, seen_by):
            raise DocumentUnknown(f"There is no document {document_id!r}.")
        return document

    async def at(self, urls: Sequence[str], seen_by: SeenBy) -> LibraryDocument | None:
        known = {each.url: each for each in self.kept.values() if _seen(each, seen_by)}
        return next((known[url] for url in urls if url in known), None)

    async def add(self, space: str, received: Path, *, name: str, readers: str, by: str) -> Added:
        if not name or "/" in name:
            raise DocumentRefused(f"{name!r} is no name.")
        if space == "FOLDER":
            raise DocumentInTheWay("FOLDER takes nothing.")
        replaced = (space, name) in self.kept
        self.contents[space, name] = received.read_bytes()  # noqa: ASYNC240 - a test's small file
        self.kept[space, name] = document(space, name, readers=readers, by=by)
        return Added(space, name, replaced, "r1")

    async def remove(self, space: str, document_id: str, *, by: str) -> None:
        if space == "FOLDER":
            raise DocumentInTheWay("FOLDER keeps everything.")
        await self.document(space, document_id, None)
        del self.kept[space, document_id]

    async def find_space(self, url: str) -> str | None:
        asked = [each for each in self.kept.values() if each.source == "confluence"]
        return next((each.space for each in asked if each.url == url), None)

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
        if space == "NONE":
            raise DocumentUnknown("There is no space 'NONE'.")
        if any(run.active for run in self.runs):
            raise DocumentInTheWay("A run is under way.")
        run = replace(
            RUN,
            id=f"r{len(self.runs) + 1}",
            space=space,
            dry_run=dry_run,
            by=by,
            extent="page" if page else extent,
            page=page,
        )
        self.runs.insert(0, run)
        return run.id

    async def newest(self, limit: int) -> Sequence[Run]:
        return self.runs[:limit]

    async def get(self, run_id: str) -> Run | None:
        return next((run for run in self.runs if run.id == run_id), None)

    async def cancel(self, run_id: str) -> None:
        run = await self.get(run_id)
        if run is None:
            raise DocumentUnknown(f"There is no run {run_id!r}.")
        state = "cancelled" if run.active else run.state
        self.runs[self.runs.index(run)] = replace(run, state=state)

    def _space(self, name: str, pages: int) -> Space:
        uploads = name != "FOLDER"
        kind = "upload" if uploads else "folder"
        return Space(name, pages, pages, kind, uploads, reindexable=True, failures=self.failures)


def document(
    space: str, name: str, *, readers: str = "everyone", by: str = "anna"
) -> LibraryDocument:
    """A document that is indexed."""
    return LibraryDocument(
        space=space,
        id=name,
        title=name.rpartition(".")[0] or name,
        url=f"/pages/{space}/{name}",
        readers=readers,
        chunks=1,
        source="upload",
        state="indexed",
        uploaded_at=WHEN,
        uploaded_by=by,
        removable=space != "FOLDER",
    )


def documents_api(audits: Audits, data_dir: Path, shelf: Shelf | None = None) -> api.DocumentsApi:
    """The part of the API that is over documents."""
    kept = shelf or Shelf()
    return api.DocumentsApi(
        tenant="default",
        documents=kept,
        reindexing=kept,
        audits=audits,
        data_dir=data_dir,
        bounds=upload_limits(1),
    )


def _seen(document: LibraryDocument, seen_by: SeenBy) -> bool:
    names = set(document.readers.split(","))
    return seen_by is None or bool(names & {*seen_by, EVERYONE})
