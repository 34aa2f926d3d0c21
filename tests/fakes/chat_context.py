"""Fake what a chat platform is connected to: documents, runs and their context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

from bot.answering.admission import VouchedDirectory
from bot.answering.explanations.explainer import Explainer
from bot.answering.gate import load_gate
from bot.answering.private_answers import PrivateAnswers
from bot.answering.visibility import ReadablePassages, RecordedPassage
from bot.chat.adapters import ChatContext
from bot.chat.answer_keeping import AnswerKeeping
from bot.chat.commands.digest_switch import DigestSwitch
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import RunWatcher
from bot.chat.documents import SeenBy
from bot.chat.messages import ListeningPolicy
from bot.domain.health import ComponentStatus
from bot.domain.ports import Audits, Inbox
from bot.escalations.casework import Casework, QuestionLinks
from bot.escalations.own_cases import CaseFinder
from bot.learning.answer_review import AnswerReview
from bot.learning.question_words import QuestionWords
from bot.learning.shadow_mode import DraftReview
from bot.store.database import Store
from bot.web import api
from bot.web.forms import upload_limits
from ingestion.documents.convert import file_kind, stored_name
from ingestion.errors import DocumentInTheWay, DocumentRefused, DocumentUnknown
from ingestion.library import Added, LibraryDocument, Space
from ingestion.records.types import Failure, Run
from rag.errors import IndexUnavailable
from rag.types import EVERYONE, Chunk, Principal
from tests.fakes.builders import NOON, chunk
from tests.fakes.digests import MONDAY_MORNING

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


class MemoryDocuments:
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
        if exact and stored_name(name, file_kind(received, name, declared=declared)) != name:
            raise DocumentRefused(f"{name!r} is named like another kind.")
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


def documents_api(
    audits: Audits, data_dir: Path, shelf: MemoryDocuments | None = None
) -> api.DocumentsApi:
    """The part of the API that is over documents."""
    kept = shelf or MemoryDocuments()
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


class ReadsNothing:
    """Implements ReadablePassages: of what was found, nothing may be read any more."""

    async def readable(
        self, tenant: str, found: Sequence[RecordedPassage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        return {}


class ReadsEverything:
    """Implements ReadablePassages: whatever was found is still there, for everyone."""

    async def readable(
        self, tenant: str, found: Sequence[RecordedPassage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        return {
            each.chunk_id: chunk("", chunk_id=each.chunk_id, page_id=each.page_id) for each in found
        }


class ReadsPages:
    """Implements ReadablePassages over a few passages; ``broken``: it can't be asked."""

    def __init__(self, *chunks: Chunk) -> None:
        self.chunks = list(chunks)
        self.broken = False

    async def readable(
        self,
        tenant: str,
        found: Sequence[RecordedPassage],
        readers: frozenset[Principal],
    ) -> Mapping[str, Chunk]:
        if self.broken:
            raise IndexUnavailable("the disk is gone")
        wanted = {each.chunk_id for each in found}
        may = [each for each in self.chunks if all(readers & group for group in each.readers)]
        return {each.id: each for each in may if each.id in wanted}


async def _all_well() -> Sequence[ComponentStatus]:
    return (ComponentStatus("knowledge", "ready", "12 chunks (IT 12)"),)


def chat_context_over(
    store: Store,
    inbox: Inbox,
    *,
    tenant: str = "default",
    shelf: MemoryDocuments | None = None,
    readable: ReadablePassages | None = None,
    review: AnswerReview | None = None,
) -> ChatContext:
    """Build the services of a platform; what is indexed is in memory.

    Without a ``review`` nobody can press the button that keeps an answer.
    """
    readable = readable or ReadsNothing()
    shelf = shelf or MemoryDocuments()
    return ChatContext(
        tenant=tenant,
        directory=VouchedDirectory(),
        inbox=inbox,
        interactions=store.interactions,
        casework=Casework(
            cases=store.escalations, interactions=store.interactions, readable=readable
        ),
        explainer=Explainer(
            interactions=store.interactions, gate=load_gate(0.65), readable=readable
        ),
        private_answers=PrivateAnswers(readable),
        listening=ListeningPolicy(store.policies, store.interactions),
        policies=store.policies,
        notes=store.notes,
        audits=store.audits,
        documents=shelf,
        reindexing=shelf,
        commands=_orders(store, shelf, tenant),
        check_parts=_all_well,
        drafts=draft_review(store, tenant),
        keeping=AnswerKeeping(tenant, cast("AnswerReview", review), VouchedDirectory()),
    )


def draft_review(store: Store, tenant: str = "default") -> DraftReview:
    return DraftReview(
        tenant,
        drafts=store.shadow_drafts,
        interactions=store.interactions,
        policies=store.policies,
    )


def _orders(store: Store, shelf: MemoryDocuments, tenant: str) -> CommandExecutor:
    reindexing = ReindexRuns(tenant=tenant, documents=shelf, runs=shelf, audits=store.audits)
    return CommandExecutor(
        tenant=tenant,
        reindexing=reindexing,
        watch=RunWatcher(shelf.get),
        policies=store.policies,
        list_channels=store.policies.channels,
        directory=VouchedDirectory(),
        check_parts=_all_well,
        cases=CaseFinder(
            tenant,
            store.escalations,
            store.interactions.get,
            QuestionLinks(store.interactions, {}).of,
        ),
        words=QuestionWords(store.escalations, store.notes, ReadsEverything()),
        digests=DigestSwitch(tenant, store.digests, MONDAY_MORNING, now=lambda: NOON),
    )
