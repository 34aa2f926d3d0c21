"""Who is whom in Confluence, and the last look at its pages, joined to the bot's ports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from bot.admission import VouchedDirectory
from bot.domain.errors import SettingInvalid
from bot.domain.ports import Directory, StillReadable
from bot.domain.types import Person
from ingestion.config import Settings
from ingestion.errors import SettingInvalid as WikiSettingInvalid
from rag.types import Principal

_RESERVED = ("user:confluence:", "group:confluence:")


class TellsAccounts(Protocol):
    """Who somebody is elsewhere: ingestion.confluence.directory.accounts.Accounts."""

    async def principals(self, email: str) -> frozenset[Principal]:
        """Return the principals of whoever has a verified address. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class KnownWiki:
    """What the bot asks of Confluence while it serves; ``still`` only where that is set."""

    directory: Directory
    still: StillReadable | None = None


class JoinedDirectory:
    """Implements bot.domain.ports.Directory: what a platform vouches for, and who that is in Confluence.

    What Confluence says is taken from Confluence alone: a group of the same name anywhere else,
    such as ``confluence:board`` at whoever signs people in, is none of its groups.
    """

    def __init__(self, accounts: TellsAccounts | None = None) -> None:
        self._vouched = VouchedDirectory()
        self._accounts = accounts

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        told = await self._vouched.principals(tenant, person)
        vouched = frozenset(each for each in told if not each.startswith(_RESERVED))
        if self._accounts is None or not person.email:
            return vouched
        return vouched | await self._accounts.principals(person.email)


@asynccontextmanager
async def open_wiki_side(settings: Settings | None) -> AsyncIterator[KnownWiki]:
    """Open what the settings say; without Confluence, people are who their platform says.

    Raises bot.domain.errors.SettingInvalid.
    """
    if settings is None or not settings.confluence_configured:
        if settings is not None and settings.confluence_last_check:
            raise SettingInvalid(
                "CONFLUENCE_LAST_CHECK=true needs Confluence. Set CONFLUENCE_URL and "
                "CONFLUENCE_TOKEN, or leave it out."
            )
        yield KnownWiki(JoinedDirectory())
        return
    # What is not configured is not imported.
    from ingestion.confluence.assembly import open_lookup as open_asked

    try:
        asked = open_asked(settings)
    except WikiSettingInvalid as error:
        raise SettingInvalid(str(error)) from error
    async with asked as (accounts, still):
        yield KnownWiki(JoinedDirectory(accounts), still)
