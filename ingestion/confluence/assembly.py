"""Open Confluence from the settings: read pages, look up people, recheck permissions.

Interactive requests use a client of their own, so that an ingestion run never delays them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from ingestion.config import Settings
from ingestion.confluence.client.cloud import Cloud
from ingestion.confluence.client.connection import (
    Connection,
    Proxies,
    address_of,
    authorization_header,
    ssl_context,
)
from ingestion.confluence.client.data_center import DataCenter
from ingestion.confluence.client.retry import Pacer, RetryLimits
from ingestion.confluence.client.transport import Transport
from ingestion.confluence.directory.accounts import Accounts, KnownShare, known_share_of
from ingestion.confluence.directory.person_finder import open_finder
from ingestion.confluence.permission_recheck import PermissionRecheck
from ingestion.confluence.rules import Rules, rules_of
from ingestion.confluence.source import ConfluenceSources
from ingestion.confluence.wiki import Wiki
from ingestion.errors import SettingInvalid

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
