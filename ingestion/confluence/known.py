"""The spaces of one Confluence, each as a source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from ingestion.confluence.client.urls import Named, named_by
from ingestion.confluence.errors import NotVisible
from ingestion.confluence.ports import Wiki
from ingestion.confluence.rules import Rules
from ingestion.confluence.source import ConfluenceSource
from ingestion.confluence.types import WikiSpace
from ingestion.errors import DocumentUnknown, SourceUnavailable
from ingestion.names import shortened

_BELIEVED_SECONDS = 60.0


class ConfluenceSources:
    """Implements ingestion.sources.Sources for one site.

    Args:
        wiki: the site.
        url: where people read it; an address elsewhere is no page of it.
        rules: which spaces are read, and what of them.
        clock: seconds that only grow.
    """

    def __init__(
        self, wiki: Wiki, *, url: str, rules: Rules, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._wiki = wiki
        self._hosts = frozenset({_host(url)})
        self._rules = rules
        self._clock = clock
        self._known: Mapping[str, WikiSpace] = {}
        self._until = float("-inf")
        self._asking = asyncio.Lock()

    async def spaces(self) -> Sequence[str]:
        """Return the keys of the spaces that are read. Raises SourceUnavailable."""
        allowed = self._rules.selection.space
        return sorted(key for key, space in (await self._all()).items() if not allowed(space))

    async def unseen(self) -> str:
        """Return why the spaces can't be told now; "" when they can."""
        try:
            await self._all()
        except SourceUnavailable as error:
            return str(error)
        return ""

    async def of(self, space: str) -> ConfluenceSource:
        """Return a space as a source, also one that is read no more, which then shows nothing.

        A space that the settings name is not looked for first: its source says if it is gone.
        Raises DocumentUnknown, SourceUnavailable.
        """
        if space not in self._rules.selection.spaces and space not in await self._all():
            raise DocumentUnknown(
                f"Confluence shows no space {shortened(space)}. Check its key, and that the "
                "account of CONFLUENCE_TOKEN may view it."
            )
        return ConfluenceSource(self._wiki, space, self._rules)

    async def space_of(self, url: str) -> str | None:
        """Return the space of the page at an address here; None for what is no page of ours.

        Raises SourceUnavailable.
        """
        named = named_by(url) if await self._is_ours(url) else None
        if named is None:
            return None
        key = await self._key(named)
        known = (await self._all()).get(key) if key else None
        return known.key if known and not self._rules.selection.space(known) else None

    async def close(self) -> None:
        await self._wiki.close()

    async def _is_ours(self, url: str) -> bool:
        host = _host(url)
        if not host:
            return url.strip().isdigit()
        if host in self._hosts:
            return True
        # Behind Atlassian's gateway people read elsewhere than we do.
        return host in {_host(space.url) for space in (await self._all()).values()}

    async def _key(self, named: Named) -> str | None:
        if named.page_id is None:
            return named.space
        try:
            return (await self._wiki.head(named.page_id)).space_key
        except NotVisible:
            # Deleted, it may still be indexed; its address says where.
            return named.space

    async def _all(self) -> Mapping[str, WikiSpace]:
        async with self._asking:
            if self._clock() >= self._until:
                self._known = {space.key: space for space in await self._wiki.spaces()}
                self._until = self._clock() + _BELIEVED_SECONDS
            return self._known


def _host(url: str) -> str:
    return urlsplit(url.strip()).netloc.lower()
