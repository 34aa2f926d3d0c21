"""An office over a record, for tests of single platforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.answering.admission import VouchedDirectory
from bot.answering.explanations.explainer import Explainer
from bot.answering.gate import load_gate
from bot.answering.permitted_views import PrivateAnswers
from bot.answering.visibility import PassageOnPage, ReadablePassages
from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import RunWatcher
from bot.chat.messages import ListeningPolicy
from bot.domain.health import ComponentStatus
from bot.domain.ports import Inbox
from bot.escalations.casework import Casework
from bot.store.database import Store
from rag.errors import IndexUnavailable
from rag.types import Chunk, Principal
from tests.bot.shelves import Shelf
from tests.builders import chunk


class ReadsNothing:
    """Implements ReadablePassages: of what was found, nothing may be read any more."""

    async def readable(
        self, tenant: str, found: Sequence[PassageOnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        return {}


class ReadsEverything:
    """Implements ReadablePassages: whatever was found is still there, for everyone."""

    async def readable(
        self, tenant: str, found: Sequence[PassageOnPage], readers: frozenset[Principal]
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
        found: Sequence[PassageOnPage],
        readers: frozenset[Principal],
    ) -> Mapping[str, Chunk]:
        if self.broken:
            raise IndexUnavailable("the disk is gone")
        wanted = {each.chunk_id for each in found}
        may = [each for each in self.chunks if all(readers & group for group in each.readers)]
        return {each.id: each for each in may if each.id in wanted}


async def _all_well() -> Sequence[ComponentStatus]:
    return (ComponentStatus("knowledge", "ready", "12 chunks (IT 12)"),)


def office_over(
    store: Store,
    inbox: Inbox,
    *,
    tenant: str = "default",
    shelf: Shelf | None = None,
    readable: ReadablePassages | None = None,
) -> ChatContext:
    """Join an office; what is indexed is in memory."""
    readable = readable or ReadsNothing()
    shelf = shelf or Shelf()
    return ChatContext(
        tenant=tenant,
        directory=VouchedDirectory(),
        inbox=inbox,
        interactions=store.interactions,
        casework=Casework(
            cases=store.escalations, interactions=store.interactions, readable=readable
        ),
        explaining=Explainer(
            interactions=store.interactions, gate=load_gate(0.65), readable=readable
        ),
        fuller=PrivateAnswers(readable),
        hearing=ListeningPolicy(store.policies, store.interactions),
        policies=store.policies,
        notes=store.notes,
        audits=store.audits,
        documents=shelf,
        reindexing=shelf,
        orders=_orders(store, shelf, tenant),
        check_parts=_all_well,
    )


def _orders(store: Store, shelf: Shelf, tenant: str) -> CommandExecutor:
    reindexing = ReindexRuns(tenant=tenant, documents=shelf, runs=shelf, audits=store.audits)
    return CommandExecutor(
        tenant=tenant,
        reindexing=reindexing,
        watch=RunWatcher(shelf),
        policies=store.policies,
        directory=VouchedDirectory(),
        check_parts=_all_well,
    )
