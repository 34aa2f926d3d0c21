"""Recheck the permissions of cited pages in Confluence just before an answer is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from ingestion.confluence.errors import NotVisible, WikiUnavailable
from ingestion.confluence.listing import SpaceListing
from ingestion.confluence.page_reader import included_titles
from ingestion.confluence.rules import Rules
from ingestion.confluence.source import KIND
from ingestion.confluence.wiki import PageHead, Wiki, WikiSpace
from ingestion.errors import IngestionError
from ingestion.types import SourcePage
from rag.types import Chunk, Principal, Readers, may_read

SECONDS = 4.0

_log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class PermissionRecheck:
    """Rechecks page permissions; pages not confirmed in time count as unreadable.

    Implements ``bot.domain.ports.RechecksPermissions``. Readers are determined as during indexing,
    from the page, its ancestors and its includes, without any cached result.

    Args:
        wiki: the site; with a client of its own, so that an ingestion run never delays it.
        rules: what is read, as for ingestion.
        seconds: for all pages together.
        now: the time.
    """

    def __init__(
        self,
        wiki: Wiki,
        rules: Rules,
        *,
        seconds: float = SECONDS,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._wiki = wiki
        self._rules = rules
        self._seconds = seconds
        self._now = now

    async def readable_chunk_ids(
        self,
        tenant: str,  # noqa: ARG002 - a site belongs to one
        chunks: Sequence[Chunk],
        readers: frozenset[Principal],
    ) -> frozenset[str]:
        """Return the ids of the chunks whose page a person with these principals may read now.

        Chunks of other sources are always included.
        """
        asked: dict[str, set[str]] = {}
        for chunk in chunks:
            if chunk.source_type == KIND:
                asked.setdefault(chunk.space, set()).add(chunk.page_id)
        live = await self._live(asked) if asked else {}
        return frozenset(
            chunk.id
            for chunk in chunks
            if chunk.source_type != KIND
            or may_read(live.get((chunk.space, chunk.page_id), ()), readers)
        )

    async def _live(self, asked: Mapping[str, set[str]]) -> Mapping[tuple[str, str], Readers]:
        """Return the current readers of the pages that exist, by space and id."""
        found: dict[tuple[str, str], Readers] = {}
        try:
            async with asyncio.timeout(self._seconds), asyncio.TaskGroup() as tasks:
                for space, page_ids in asked.items():
                    tasks.create_task(self._look(space, page_ids, found))
        except TimeoutError:
            _log.warning("last_check.late", seconds=self._seconds)
        return found

    async def _look(
        self, key: str, page_ids: Collection[str], found: dict[tuple[str, str], Readers]
    ) -> None:
        try:
            seen = await self._seen(key, page_ids)
        except IngestionError as error:
            _log.warning("last_check.failed", space=key, why=str(error))
            return
        except Exception:  # noqa: BLE001 - in every doubt a page may not be read
            _log.exception("last_check.failed", space=key)
            return
        found.update({(key, page_id): readers for page_id, readers in seen.items()})

    async def _seen(self, key: str, page_ids: Collection[str]) -> Mapping[str, Readers]:
        space = await self._space(key)
        heads = await self._heads(key, {page_id.partition("/")[0] for page_id in page_ids})
        if space is None or not heads:
            return {}
        files = any("/" in page_id for page_id in page_ids)
        rules = self._rules if files else replace(self._rules, largest=0)
        looks = SpaceListing(self._wiki, space, rules, wanted=included_titles, now=self._now)
        seen = await looks.some(heads)
        return {page_id: _readers(page) for page_id, page in seen.pages.items()}

    async def _space(self, key: str) -> WikiSpace | None:
        found = (space for space in await self._wiki.spaces([key]) if space.key == key)
        space = next(found, None)
        return None if space is None or self._rules.selection.space(space) else space

    async def _heads(self, key: str, page_ids: Iterable[str]) -> list[PageHead]:
        heads = await asyncio.gather(*(self._head(page_id) for page_id in page_ids))
        return [head for head in heads if head is not None and head.space_key == key]

    async def _head(self, page_id: str) -> PageHead | None:
        try:
            return await self._wiki.head(page_id)
        except NotVisible:
            return None
        except WikiUnavailable as error:
            _log.warning("last_check.failed", page=page_id, why=str(error))
            return None


def _readers(page: SourcePage) -> Readers:
    """Return readers who may read any indexed text of a page, also an older text."""
    return page.readers if page.old_text_readers is None else page.old_text_readers
