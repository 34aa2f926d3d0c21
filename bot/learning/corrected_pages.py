"""The pages because of which answers were corrected, as somebody may see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.answering.asker_identity import Reader
from bot.learning.corrections import CorrectedPage, CorrectionReports
from bot.learning.gap_views import NearPage
from rag.errors import RagError
from rag.ports import SearchIndex


@dataclass(frozen=True, slots=True)
class ShownCorrections:
    """How many answers were corrected because of a page; None if it is gone, or closed to them."""

    counts: CorrectedPage
    page: NearPage | None


class CorrectedPages:
    """Lists the corrected pages of one tenant."""

    def __init__(self, tenant: str, reports: CorrectionReports, index: SearchIndex) -> None:
        self._tenant = tenant
        self._reports = reports
        self._index = index

    async def listed(
        self, reader: Reader, limit: int, offset: int = 0, since: datetime | None = None
    ) -> Sequence[ShownCorrections]:
        """Return pages, the newest correction first; ``since`` leaves out what was found before.

        Raises StoreUnavailable.
        """
        found = await self._reports.pages(self._tenant, limit, offset, since)
        return [ShownCorrections(each, await self._page(each, reader)) for each in found]

    async def _page(self, counts: CorrectedPage, reader: Reader) -> NearPage | None:
        if reader.spaces is not None and counts.space not in reader.spaces:
            return None
        try:
            chunks = await self._index.page(
                self._tenant, counts.space, counts.page, reader.principals
            )
        except RagError:
            return None
        if not chunks:
            return None
        first = chunks[0]
        return NearPage(first.title, first.url, first.space, first.updated_by, first.updated_at)
