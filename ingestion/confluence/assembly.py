"""Open Confluence from the settings: read pages, look up people, recheck permissions.

Interactive requests use a client of their own, so that an ingestion run never delays them. The
permissions of cited pages are rechecked just before an answer is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

import structlog

from ingestion.config import Settings
from ingestion.confluence.client.cloud import Cloud
from ingestion.confluence.client.connection import (
    Connection,
    address_of,
    authorization_header,
    ssl_context,
)
from ingestion.confluence.client.data_center import DataCenter
from ingestion.confluence.client.retry import Pacer, RetryLimits
from ingestion.confluence.client.transport import Transport
from ingestion.confluence.listing import SpaceListing
from ingestion.confluence.permissions import Rules, rules_of
from ingestion.confluence.person_finder import (
    Accounts,
    KnownShare,
    known_share_of,
    open_finder,
)
from ingestion.confluence.source import KIND, ConfluenceSources
from ingestion.confluence.space_scan import space_with_key, visible_page
from ingestion.confluence.wiki import PageHead, Wiki, WikiSpace
from ingestion.errors import IngestionError, SettingInvalid, WikiUnavailable
from ingestion.proxies import Proxies
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
        looks = SpaceListing(self._wiki, space, rules, now=self._now)
        seen = await looks.some(heads)
        return {page_id: _readers(page) for page_id, page in seen.pages.items()}

    async def _space(self, key: str) -> WikiSpace | None:
        space = await space_with_key(self._wiki, key)
        return None if space is None or self._rules.selection.space(space) else space

    async def _heads(self, key: str, page_ids: Iterable[str]) -> list[PageHead]:
        heads = await asyncio.gather(*(self._head(page_id) for page_id in page_ids))
        return [head for head in heads if head is not None and head.space_key == key]

    async def _head(self, page_id: str) -> PageHead | None:
        try:
            return await visible_page(self._wiki, page_id)
        except WikiUnavailable as error:
            _log.warning("last_check.failed", page=page_id, why=str(error))
            return None


def _readers(page: SourcePage) -> Readers:
    """Return readers who may read any indexed text of a page, also an older text."""
    return page.readers if page.old_text_readers is None else page.old_text_readers


ConfluenceSite = Cloud | DataCenter


def open_wiki(
    *,
    url: str,
    token: str,
    email: str | None = None,
    edition: Literal["auto", "cloud", "data-center"] = "auto",
    ca_file: str | None = None,
    patience: RetryLimits | None = None,
) -> ConfluenceSite:
    """Return the Confluence site at ``url``; the caller closes it. Sends no request yet.

    Raises SettingInvalid for an unusable address or certificate file.
    """
    address = address_of(url, edition)
    line = Connection(
        address,
        authorization=authorization_header(token, email),
        trust=ssl_context(ca_file),
        proxies=Proxies(),
    )
    transport = Transport(address, line=line, pace=Pacer(), patience=patience)
    return Cloud(transport) if address.edition == "cloud" else DataCenter(transport)


def confluence_site(
    settings: Settings, patience: RetryLimits | None = None
) -> ConfluenceSite | None:
    """Return the configured Confluence site, which the caller closes; None without one.

    ``patience`` limits the duration of a request, if not the default. Raises SettingInvalid.
    """
    if settings.confluence_url is None or settings.confluence_token is None:
        return None
    return open_wiki(
        url=settings.confluence_url,
        token=settings.confluence_token.get_secret_value(),
        email=settings.confluence_email,
        edition=settings.confluence_edition,
        ca_file=settings.confluence_ca_file,
        patience=patience,
    )


def confluence_sources(settings: Settings) -> ConfluenceSources | None:
    """Return the sources of the configured Confluence, which the caller closes; None without one.

    Raises SettingInvalid.
    """
    rules = rules_of(settings)
    wiki = confluence_site(settings)
    if wiki is None or settings.confluence_url is None:
        return None
    return ConfluenceSources(wiki, url=settings.confluence_url, rules=rules)


INTERACTIVE_LIMITS = RetryLimits(
    attempts=4,
    deadline_seconds=20.0,
    try_seconds=10.0,
    first_wait_seconds=0.25,
    longest_wait_seconds=2.0,
    jitter_seconds=0.25,
)
"""Limits for interactive requests, where somebody waits for the answer."""

_NOT_CONFIGURED = "Confluence is not configured. Set CONFLUENCE_URL and CONFLUENCE_TOKEN."
Lookup = tuple[Accounts, PermissionRecheck | None]


def open_lookup(settings: Settings) -> AbstractAsyncContextManager[Lookup]:
    """Open a Lookup with a client of its own, so that an ingestion run never delays it.

    Raises SettingInvalid at once.
    """
    wiki, rules = confluence_site(settings, INTERACTIVE_LIMITS), rules_of(settings)
    if wiki is None:
        raise SettingInvalid(_NOT_CONFIGURED)
    return _opened_lookup(settings, wiki, rules)


async def known_people_share(settings: Settings, emails: Collection[str]) -> KnownShare:
    """Return how many of these people can be found in Confluence. Raises SettingInvalid."""
    wiki = confluence_site(settings, INTERACTIVE_LIMITS)
    if wiki is None:
        raise SettingInvalid(_NOT_CONFIGURED)
    try:
        async with open_finder(settings, wiki) as finder:
            return await known_share_of(finder, emails)
    finally:
        await wiki.close()


@asynccontextmanager
async def _opened_lookup(settings: Settings, wiki: Wiki, rules: Rules) -> AsyncIterator[Lookup]:
    try:
        async with open_finder(settings, wiki) as finder:
            accounts = Accounts(finder, seconds=settings.confluence_directory_minutes * 60)
            try:
                yield (
                    accounts,
                    PermissionRecheck(wiki, rules) if settings.confluence_last_check else None,
                )
            finally:
                await accounts.close()
    finally:
        await wiki.close()
