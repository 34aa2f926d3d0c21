"""Who may read what, and what is gone, brought into the index before any text is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingestion.pipeline import Confirm
from ingestion.plan import narrowed_first, readers_meanwhile
from ingestion.side_by_side import for_each
from ingestion.types import Plan, SourcePage
from rag.ports import Index
from rag.types import Page

_AT_ONCE = 4


async def restrict_and_remove(
    index: Index,
    plan: Plan,
    indexed: Mapping[str, Page],
    *,
    tenant: str,
    space: str,
    confirm: Confirm,
) -> None:
    """Do what a plan says of readers and removals; ``indexed`` is what the index has of the space.

    First what fewer may read, and what is gone; then what more may read.
    """
    narrowed, widened = narrowed_first(readers_meanwhile(plan, indexed), indexed)
    await _set_readers(index, tenant, space, narrowed, confirm)
    if plan.removed:
        await confirm()
        await index.delete_pages(tenant, space, plan.removed)
    await _set_readers(index, tenant, space, widened, confirm)


async def _set_readers(
    index: Index, tenant: str, space: str, pages: Sequence[SourcePage], confirm: Confirm
) -> None:
    async def set_one(page: SourcePage) -> None:
        await confirm()
        await index.set_readers(tenant, space, page.id, page.readers)

    await for_each(pages, set_one, at_once=_AT_ONCE)
