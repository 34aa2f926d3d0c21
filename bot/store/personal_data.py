"""Export and forget a person over the record, the files of the data directory, and the engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from bot.domain.errors import SettingInvalid
from bot.domain.messages import InteractionId
from bot.domain.personal_data import (
    SHARED_IDS,
    ForgetProgress,
    ForgetRequest,
    PersonSummary,
    known_identity,
)
from bot.learning.jobs import Job
from bot.learning.label_review import QUESTIONS_FILE, write_questions
from bot.learning.labels import FROM_USE
from bot.store.database import Store
from bot.store.forgetting import Cancel
from bot.store.rows import utc_now
from ingestion.records.ledger import Ledger
from ingestion.uploads import Uploads

JOB = "forget"
_EVERY = timedelta(seconds=5)
KEPT_ANSWERS = Path("evaluation") / "answers"
"""Where answers to labelled questions are kept, in the data directory."""

ForgetWork = Callable[[Sequence[InteractionId]], Awaitable[None]]
"""Deletes the engine's ended work on interactions (`bot.inbox.ports.DurableEngine`)."""

ErasePages = Callable[[], Awaitable[bool]]
"""Erases replaced pages; returns False where the index is not up to date yet."""

_INDEXED_AFTER = timedelta(minutes=2)
"""By then the page of an answer whose title was replaced waits to be indexed, or is."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class PersonalData:
    """What is kept about persons here, on whichever file or database.

    ``cancel`` withdraws a question, ``forget_work`` deletes the engine's ended work on questions,
    ``erase_pages`` erases what the index has of pages that were replaced: None where only another
    process can do so.
    """

    tenant: str
    data_dir: Path
    store: Store
    uploads: Uploads
    ledger: Ledger
    cancel: Cancel
    forget_work: ForgetWork
    erase_pages: ErasePages | None = None
    now: Callable[[], datetime] = utc_now

    async def summary(self, identities: Sequence[str]) -> PersonSummary:
        """Return what is kept about a person, by place. Raises SettingInvalid for a shared id."""
        shared = SHARED_IDS & {each.strip() for each in identities}
        if shared:
            raise SettingInvalid(
                f"{min(shared)!r} is nobody's own id: several people act under it. Name a person's "
                "id or e-mail address."
            )
        keys = await self.store.people.keys(self.tenant, identities)
        found = await self.store.people.summary(self.tenant, keys)
        documents = await asyncio.to_thread(self.uploads.by, keys.actors)
        runs = await self.ledger.by(keys.actors)
        files = {"documents": len(documents), "index runs": len(runs)}
        counts = {**found.counts, **{name: count for name, count in files.items() if count}}
        return replace(found, counts=counts)

    async def export(self, identities: Sequence[str], by: str) -> Mapping[str, object]:
        """Return all that is kept about a person, as JSON values, with an audit entry."""
        keys = (await self.summary(identities)).keys
        await self.store.audits.append(self.tenant, by, "export person", min(identities))
        documents = await asyncio.to_thread(self.uploads.by, keys.actors)
        runs = await self.ledger.by(keys.actors)
        exported = await self.store.people.export(self.tenant, keys, self.now())
        return {
            **exported,
            "documents": [
                {"space": each.space, "name": each.name, "uploaded_at": each.version.at.isoformat()}
                for each in documents
            ],
            "index_runs": [
                {"id": each.id, "space": each.space, "at": each.created_at.isoformat()}
                for each in runs
            ],
        }

    async def request(self, identities: Sequence[str], by: str) -> ForgetRequest:
        """Record a request to forget a person; the server's job carries it out."""
        keys = (await self.summary(identities)).keys
        return await self.store.forgetting.request(self.tenant, keys, by, self.now())

    async def open_request(self, identity: str) -> ForgetRequest | None:
        """Return the request to forget a person that is not done yet, if there is one.

        Their address alone may lead nowhere any more.
        """
        asked = known_identity(identity)
        for request in await self.store.forgetting.open_requests(self.tenant):
            if request.keys.ids & asked.ids or request.keys.emails & asked.emails:
                return request
        return None

    async def carry_out(self, request: ForgetRequest) -> ForgetProgress:
        """Do all of a request that can be done now. Raises BotError; then call it again."""
        names = request.keys.actors
        await self.uploads.unname(names, request.pseudonym)
        working = await self.ledger.unname(names, request.pseudonym)
        tenant, forgetting = self.tenant, self.store.forgetting
        asked = await forgetting.asked(tenant, request)
        progress = await forgetting.carry_out(tenant, request, self.cancel, ends=not working)
        await self.forget_work(asked)
        await self._clean_questions()
        return replace(progress, waiting=progress.waiting + working)

    async def run(self) -> bool:
        """Carry out open requests; a job of the server. Returns False: the rest waits."""
        for request in await self.store.forgetting.open_requests(self.tenant):
            progress = await self.carry_out(request)
            if progress.changed or progress.done:
                log.info(
                    "person.forgotten",
                    pseudonym=request.pseudonym,
                    changed=progress.changed,
                    waiting=progress.waiting,
                )
        await self._erase_pages()
        return False

    async def _erase_pages(self) -> None:
        before, forgetting = self.now() - _INDEXED_AFTER, self.store.forgetting
        if self.erase_pages is None or not await forgetting.pages_to_erase(self.tenant, before):
            return
        if await self.erase_pages():
            await forgetting.pages_erased(self.tenant, before)

    def job(self) -> Job:
        """Return the job that carries out requests."""
        return Job(JOB, _EVERY, self.run)

    async def _clean_questions(self) -> None:
        """Take questions that are gone out of the operator's labelled ones, and their answers."""
        accepted = await self.store.labels.accepted(self.tenant)
        questions = self.data_dir / QUESTIONS_FILE
        if questions.exists():
            await asyncio.to_thread(write_questions, questions, accepted)
        ids = {label.question_id for label in accepted}
        await asyncio.to_thread(drop_answers, self.data_dir / KEPT_ANSWERS, ids)


def drop_answers(folder: Path, accepted: set[str]) -> None:
    """Drop the kept answers to questions from use that are no accepted labels any more."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if not _is_left(line, accepted)]
        if kept != lines:
            fresh = path.with_suffix(".new")
            fresh.write_bytes(b"".join(kept))
            fresh.replace(path)


def _is_left(line: bytes, accepted: set[str]) -> bool:
    try:
        question = str(json.loads(line)["row"]["id"])
    except (ValueError, KeyError, TypeError):
        # A kill cut it off; who reads the file drops it.
        return False
    return question.startswith(FROM_USE) and question not in accepted
