"""An office over a record, for tests of single platforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.admission import VouchedDirectory
from bot.escalations.casework import Casework
from bot.escalations.reading import OnPage, Readable
from bot.fuller import FullerReplies
from bot.gating.gate import load_gate
from bot.hearing import Hearing
from bot.office import Office
from bot.orders.orders import Orders
from bot.orders.reindexing import Reindexing
from bot.orders.watching import Watch
from bot.ports import Inbox
from bot.startup import Part
from bot.store.store import Store
from bot.why.explaining import Explaining
from rag.errors import IndexUnavailable
from rag.types import Chunk, Principal
from tests.bot.shelves import Shelf
from tests.builders import chunk


class ReadsNothing:
    """Implements Readable: of what was found, nothing may be read any more."""

    async def readable(
        self, tenant: str, found: Sequence[OnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        return {}


class ReadsEverything:
    """Implements Readable: whatever was found is still there, for everyone."""

    async def readable(
        self, tenant: str, found: Sequence[OnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        return {
            each.chunk_id: chunk("", chunk_id=each.chunk_id, page_id=each.page_id) for each in found
        }


class ReadsPages:
    """Implements Readable over a few passages; ``broken``: it can't be asked."""

    def __init__(self, *chunks: Chunk) -> None:
        self.chunks = list(chunks)
        self.broken = False

    async def readable(
        self,
        tenant: str,
        found: Sequence[OnPage],
        readers: frozenset[Principal],
    ) -> Mapping[str, Chunk]:
        if self.broken:
            raise IndexUnavailable("the disk is gone")
        wanted = {each.chunk_id for each in found}
        may = [each for each in self.chunks if all(readers & group for group in each.readers)]
        return {each.id: each for each in may if each.id in wanted}


async def _all_well() -> Sequence[Part]:
    return (Part("knowledge", "ready", "12 chunks (IT 12)"),)


def office_over(
    store: Store,
    inbox: Inbox,
    *,
    tenant: str = "default",
    shelf: Shelf | None = None,
    readable: Readable | None = None,
) -> Office:
    """Join an office; what is indexed is in memory."""
    readable = readable or ReadsNothing()
    shelf = shelf or Shelf()
    return Office(
        tenant=tenant,
        directory=VouchedDirectory(),
        inbox=inbox,
        interactions=store.interactions,
        casework=Casework(
            cases=store.escalations, interactions=store.interactions, readable=readable
        ),
        explaining=Explaining(
            interactions=store.interactions, gate=load_gate(0.65), readable=readable
        ),
        fuller=FullerReplies(readable),
        hearing=Hearing(store.policies, store.interactions),
        policies=store.policies,
        notes=store.notes,
        audits=store.audits,
        documents=shelf,
        reindexing=shelf,
        orders=_orders(store, shelf, tenant),
        check_parts=_all_well,
    )


def _orders(store: Store, shelf: Shelf, tenant: str) -> Orders:
    reindexing = Reindexing(tenant=tenant, documents=shelf, runs=shelf, audits=store.audits)
    return Orders(
        tenant=tenant,
        reindexing=reindexing,
        watch=Watch(shelf),
        policies=store.policies,
        directory=VouchedDirectory(),
        check_parts=_all_well,
    )
