"""Tries the other rights that reading takes, each with one space or page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from ingestion.config import Settings
from ingestion.confluence.check import Check, tried
from ingestion.confluence.checks_of_spaces import VIEW, Sample
from ingestion.confluence.directory.composition import ENTRA
from ingestion.confluence.directory.errors import DirectoryInvalid
from ingestion.confluence.directory.people_file import PeopleFile
from ingestion.confluence.looks import Looks
from ingestion.confluence.ports import Wiki
from ingestion.confluence.references import wanted
from ingestion.confluence.rules import rules_of
from ingestion.confluence.types import PageHead, WikiSpace, WikiUser
from ingestion.errors import PageUnreadable

_RESTRICTIONS = "Until they can be read nobody is answered from any page."
_SEARCH = "What pages include of others stays a link."
NARROWER = "leave out text that not all their readers may read"
_MOST_INCLUDING = 20
_FILES = "Let the token read them, or set CONFLUENCE_ATTACHMENTS=false."

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RightsChecks:
    """``sample`` is what was seen of the spaces."""

    wiki: Wiki
    settings: Settings
    sample: Sample

    async def all(self) -> Sequence[Check]:
        """Return what came of it; nothing where no page was seen."""
        if not self.sample.pages:
            return ()
        space, page = next(iter(self.sample.pages.items()))
        checks = [
            await tried("restrictions", partial(self._restrictions, page), _RESTRICTIONS),
            await tried("search", partial(self._search, space), _SEARCH),
        ]
        if self.settings.confluence_attachments:
            checks.append(await tried("files", partial(self._files, space), _FILES))
        return [*checks, await tried("people", self._people, VIEW, vital=False)]

    async def _restrictions(self, page: PageHead) -> Check:
        await self.wiki.marks_of(page.id)
        return Check("restrictions", works=True, detail="of pages can be read")

    async def _search(self, space: WikiSpace) -> Check:
        found = [page_id async for page_id in _some(self.wiki.including(space), _MOST_INCLUDING)]
        narrower = await self._narrower(space, found)
        told = f"; of {len(found)} looked at in {space.key}, {narrower} {NARROWER}"
        detail = f"finds what includes other pages{told if narrower else ''}"
        return Check("search", works=True, detail=detail)

    async def _narrower(self, space: WikiSpace, page_ids: Sequence[str]) -> int:
        """Return how many of these pages include text that not all their readers may read."""
        rules = replace(rules_of(self.settings), largest=0)
        looks = Looks(self.wiki, space, rules, wanted=wanted, now=lambda: datetime.now(UTC))
        seen = await looks.some([await self.wiki.head(page_id) for page_id in page_ids])
        return sum(offer.narrower for offer in seen.offers.values())

    async def _files(self, space: WikiSpace) -> Check:
        await _first(self.wiki.attachments_in(space))
        megabytes = self.settings.confluence_attachment_mb
        return Check("files", works=True, detail=f"can be listed; up to {megabytes} MB are read")

    async def _people(self) -> Check:
        """Say how colleagues are told, and whether that can work."""
        if self.settings.confluence_directory:
            return await self._by_directory(self.settings.confluence_directory)
        shown = [
            user for each in sorted(self.sample.authors) if (user := await self._user(each)).email
        ]
        asked = len(self.sample.authors)
        if shown:
            told = f"{len(shown)} of {asked} who wrote pages show their e-mail address"
            return Check("people", works=len(shown) == asked or None, detail=told)
        cure = (
            f"none of {asked} who wrote pages shows an e-mail address, so hardly anybody gets more "
            "than what everyone may read. Set CONFLUENCE_DIRECTORY."
        )
        return Check("people", works=None, detail=cure)

    async def _by_directory(self, named: str) -> Check:
        if named.strip().casefold() == ENTRA:
            return Check("people", works=True, detail="are told by Entra, which is not tried here")
        file = PeopleFile(Path(named))
        try:
            people = await file.people()
        except DirectoryInvalid as error:
            return Check("people", works=False, detail=str(error))
        return Check("people", works=True, detail=f"{len(people)} are told by {named}")

    async def _user(self, user_id: str) -> WikiUser:
        try:
            return await self.wiki.user(user_id)
        except PageUnreadable:
            return WikiUser(id=user_id, name="")


async def _some(found: AsyncIterator[Item], most: int) -> AsyncIterator[Item]:
    async for each in found:
        yield each
        most -= 1
        if not most:
            return


async def _first(found: AsyncIterator[Item]) -> Item | None:
    async for each in found:
        return each
    return None
