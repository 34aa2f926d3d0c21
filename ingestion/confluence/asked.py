"""Opens what is asked of Confluence while people wait: who somebody is, and the last check."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from ingestion.config import Settings
from ingestion.confluence.client.patience import Patience
from ingestion.confluence.composition import wiki_of
from ingestion.confluence.directory.accounts import Accounts
from ingestion.confluence.directory.composition import open_finder
from ingestion.confluence.directory.share import Share, share_of
from ingestion.confluence.last_check import LastCheck
from ingestion.confluence.ports import Wiki
from ingestion.confluence.rules import Rules, rules_of
from ingestion.errors import SettingInvalid

SOON = Patience(
    attempts=4,
    deadline_seconds=20.0,
    try_seconds=10.0,
    first_wait_seconds=0.25,
    longest_wait_seconds=2.0,
    jitter_seconds=0.25,
)
"""Somebody waits for the answer."""

_NOT_CONFIGURED = "Confluence is not configured. Set CONFLUENCE_URL and CONFLUENCE_TOKEN."
Asked = tuple[Accounts, LastCheck | None]


def open_asked(settings: Settings) -> AbstractAsyncContextManager[Asked]:
    """Open a client of its own, so that a run of ingestion is never in the way.

    Raises SettingInvalid at once.
    """
    wiki, rules = wiki_of(settings, SOON), rules_of(settings)
    if wiki is None:
        raise SettingInvalid(_NOT_CONFIGURED)
    return _opened(settings, wiki, rules)


async def known_share(settings: Settings, emails: Collection[str]) -> Share:
    """Tell how many of these people can be found in Confluence. Raises SettingInvalid."""
    wiki = wiki_of(settings, SOON)
    if wiki is None:
        raise SettingInvalid(_NOT_CONFIGURED)
    try:
        async with open_finder(settings, wiki) as finder:
            return await share_of(finder, emails)
    finally:
        await wiki.close()


@asynccontextmanager
async def _opened(settings: Settings, wiki: Wiki, rules: Rules) -> AsyncIterator[Asked]:
    try:
        async with open_finder(settings, wiki) as finder:
            accounts = Accounts(finder, seconds=settings.confluence_directory_minutes * 60)
            try:
                yield accounts, LastCheck(wiki, rules) if settings.confluence_last_check else None
            finally:
                await accounts.close()
    finally:
        await wiki.close()
