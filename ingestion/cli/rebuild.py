"""Build the next version of the Azure index while the current one serves queries (``rebuild``)."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from ingestion.cli import FAILED, REFUSED, open_index, open_records
from ingestion.config import Settings
from ingestion.errors import RunInProgress
from ingestion.records.leases import Confirm, Leases
from ingestion.runs.source_registry import KnownSources, open_sources, record_report
from ingestion.sync.plan import Versions, plan_run, removal_error
from ingestion.sync.report import progress_on, report_lines
from ingestion.sync.sync import sync
from ingestion.types import Listing, Report, SourcePage
from rag.factory import open_embedder
from rag.ports import Embedder, Index
from rag.types import Fingerprint

_THIS = "(rebuild)"
"""Lease name that allows one rebuild at a time; no space can have this name."""

_LOOKED_EVERY_SECONDS = 0.5
_ONE_FILE = (
    "The index is one file, which is brought up to date where it is: python -m ingestion sync --all"
)


async def rebuild_index(options: argparse.Namespace, settings: Settings) -> int:
    """Index all spaces into a new version of the index, then switch to it.

    The current version is kept up to date meanwhile. At the end all spaces are leased and synced
    once more, because what another run wrote would be lost with the former version. When anything
    could not be read, or too many pages are missing, the former version stays; intended removals
    must be made there first (``sync --allow-mass-delete``).
    """
    if not settings.azure_search_configured:
        print(_ONE_FILE, file=sys.stderr)
        return REFUSED
    # Imported here, so that what is not configured is not imported.
    from rag.index.azure.index import open_azure_rebuild
    from rag.index.azure.schema import SCHEMA

    async with AsyncExitStack() as closing:
        records = closing.enter_context(open_records(settings))
        sources = await closing.enter_async_context(open_sources(settings, records))
        embedder, trouble = await closing.enter_async_context(open_embedder(settings))
        if embedder is None:
            print(trouble, file=sys.stderr)
            return FAILED
        if others := await _other_tenants(settings):
            print(_pages_of_tenant(others), file=sys.stderr)
            return REFUSED
        spaces = await sources.spaces()
        if orphans := await _orphans(settings, spaces):
            print(_unfilled(orphans), file=sys.stderr)
            return REFUSED
        expected = Fingerprint(embedder.name, embedder.dimensions, SCHEMA)
        held = _HeldLeases(records.leases, closing)
        # Checked before opening the index, which may restart what another rebuild is filling.
        await held.take(_THIS)
        rebuild = await open_azure_rebuild(settings, expected)
        closing.push_async_callback(rebuild.close)
        filling = _NewIndex(sources, rebuild.index, embedder, settings.tenant, held.confirm)
        await filling.fill_all(spaces)
        # Indexing may have taken hours: a second sync finds what was restricted or deleted
        # meanwhile.
        for space in spaces:
            await held.wait_for(space)
        begun = datetime.now(UTC)
        reports = await filling.fill_all(spaces)
        await _refuse_losses(settings, rebuild.index, spaces)
        if any(report.failed for report in reports) and not options.in_part:
            print("Not all could be read, so the former version stays.", file=sys.stderr)
            return FAILED
        await held.confirm()
        print(f"In use is now {await rebuild.finish()}.")
        for report in reports:
            await record_report(records.ledger, report, begun)
    return 0


class _HeldLeases:
    """The leases that this process holds until it ends."""

    def __init__(self, leases: Leases, closing: AsyncExitStack) -> None:
        self._leases = leases
        self._closing = closing
        self._held: list[Confirm] = []

    async def take(self, name: str) -> None:
        """Acquire the lease of a space. Raises RunInProgress."""
        self._held.append(await self._closing.enter_async_context(self._leases.held(name)))

    async def wait_for(self, space: str) -> None:
        """Acquire the lease of a space, waiting until no run holds it."""
        told = False
        while True:
            try:
                return await self.take(space)
            except RunInProgress:
                if not told:
                    print(f"Waiting until the run over {space} ends.", file=sys.stderr)
                told = True
                await asyncio.sleep(_LOOKED_EVERY_SECONDS)

    async def confirm(self) -> None:
        """Verify that all leases are still held. Raises LeaseLost."""
        for confirm in self._held:
            await confirm()


@dataclass(frozen=True, slots=True)
class _NewIndex:
    """Fills a new version of the index, space by space."""

    sources: KnownSources
    index: Index
    embedder: Embedder
    tenant: str
    confirm: Confirm

    async def fill_all(self, spaces: Sequence[str]) -> Sequence[Report]:
        return [await self._fill(space) for space in spaces]

    async def _fill(self, space: str) -> Report:
        report = await sync(
            await self.sources.source(space),
            self.index,
            self.embedder,
            tenant=self.tenant,
            confirm=self.confirm,
            progress=progress_on(sys.stderr),
        )
        print("\n".join(report_lines(report)))
        return report


async def _orphans(settings: Settings, known: Sequence[str]) -> Sequence[str]:
    """Return the indexed spaces that would be lost because they have no known source."""
    async with open_index(settings, None) as index:
        return sorted(set(await index.spaces(settings.tenant)) - set(known))


async def _other_tenants(settings: Settings) -> Sequence[str]:
    """Return the other tenants with pages in the index, which a new version would not contain."""
    # Imported here, so that what is not configured is not imported.
    from rag.index.azure.index import Opening, open_azure_index

    absent = Opening(may_be_absent=True)
    index = await open_azure_index(settings, None, create=False, opening=absent)
    try:
        return sorted(set(await index.tenants()) - {settings.tenant})
    finally:
        await index.close()


async def _refuse_losses(settings: Settings, new: Index, spaces: Sequence[str]) -> None:
    """Apply the mass-deletion limit to the new version, so that a blind wiki empties no space."""
    async with open_index(settings, None) as former:
        for space in spaces:
            there = (await new.pages(settings.tenant, space)).values()
            listing = Listing(tuple(SourcePage(p.id, p.version, p.readers, "") for p in there))
            plan = plan_run(listing, await former.pages(settings.tenant, space), Versions(""))
            stops = removal_error(plan, listing, space)
            if stops is not None:
                raise stops


def _pages_of_tenant(tenants: Sequence[str]) -> str:
    return (
        f"The index has pages of {', '.join(map(repr, tenants))}, too, which a new version that is "
        "filled for one tenant would not have. Give this tenant an index of its own by "
        "AZURE_SEARCH_INDEX and read all into it (python -m ingestion sync --all), or remove their "
        "pages first (FRONTDESK_TENANT=NAME python -m ingestion forget KEY --yes)."
    )


def _unfilled(spaces: Sequence[str]) -> str:
    return (
        f"It is not known what fills {', '.join(spaces)}, so that a new version would not have it. "
        "Name the folder once more (python -m ingestion folder PATH --space KEY), or remove it "
        "(python -m ingestion forget KEY --yes)."
    )
