"""Check single spaces, pages and permissions of a Confluence: their content and their readers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from ingestion.config import Settings
from ingestion.confluence.errors import DirectoryInvalid, NotVisible, run_check
from ingestion.confluence.listing import SpaceListing
from ingestion.confluence.page_reader import included_titles
from ingestion.confluence.people_file import PeopleFile
from ingestion.confluence.permissions import PageAccess, Rules, rules_of, unknown_principals
from ingestion.confluence.person_finder import ENTRA
from ingestion.confluence.wiki import PageHead, Subjects, Wiki, WikiSpace, WikiUser
from ingestion.errors import IngestionError, PageUnreadable
from rag.types import Check

_MOST_SPACES = 50
_MOST_PAGES = 1000
_MOST_PEOPLE = 10
_NAMED = 5
VIEW_CURE = "See that the token's account may view it."
_GROUPS_CURE = "See that the token's account may view groups."
_READERS_UNKNOWN = (
    "who may read it can't be read, so nobody is answered from it. Let the token's account see the "
    "space's permissions, or set CONFLUENCE_SPACE_READERS."
)
_EMAILS_HIDDEN = (
    "Data Center tells nobody's e-mail address, so nobody is answered from it. Name a group that "
    "every colleague is in by CONFLUENCE_EVERYONE_GROUPS, or set CONFLUENCE_DIRECTORY."
)


@dataclass(slots=True)
class Sample:
    """The first visible page of each space, and some authors of pages."""

    pages: dict[WikiSpace, PageHead] = field(default_factory=dict)
    authors: set[str] = field(default_factory=set)


class SpaceChecks:
    """Checks spaces.

    Args:
        wiki: the Confluence site.
        rules: which spaces are read, and who counts as everyone.
        cloud: whether it is Cloud, where groups have ids and e-mail addresses may be visible.
        directory: whether the mapping of colleagues to Confluence accounts is configured.
    """

    def __init__(self, wiki: Wiki, rules: Rules, *, cloud: bool, directory: bool) -> None:
        self._wiki = wiki
        self._rules = rules
        self._cloud = cloud
        self._directory = directory
        self._access = PageAccess(wiki, everyone_groups=rules.everyone_groups)
        self._names: Mapping[str, str] = {}
        self._sample = Sample()

    async def all(
        self, spaces: Sequence[WikiSpace], account: WikiUser | None
    ) -> tuple[Sequence[Check], Sample]:
        """Return the checks, and a sample of pages; ``account`` is the token's user."""
        await self._learn_names(account)
        shown = spaces[:_MOST_SPACES]
        checks: list[Check] = []
        if self._rules.everyone_groups:
            checks.append(await run_check("everyone", self._everyone, _GROUPS_CURE))
        checks += [await self._tried(space) for space in shown]
        if len(spaces) > len(shown):
            told = f"{len(spaces) - len(shown)} more were not looked at one by one"
            checks.append(Check("further spaces", works=True, detail=told))
        return checks, self._sample

    async def _tried(self, space: WikiSpace) -> Check:
        return await run_check(f"space {space.key}", partial(self._space, space), VIEW_CURE)

    async def _learn_names(self, account: WikiUser | None) -> None:
        """Fetch names of the groups that the account is in; Cloud's restrictions hold only ids."""
        try:
            groups = await self._wiki.groups_of(account.id) if account else ()
        except IngestionError:
            groups = ()
        self._names = {group.id: group.name for group in groups}

    async def _everyone(self) -> Check:
        unknown = await self._access.unknown_groups()
        if not unknown:
            groups = ", ".join(self._rules.everyone_groups)
            return Check("everyone", works=True, detail=f"is whoever is in {groups}")
        told = (
            f"Confluence knows no group {', '.join(unknown)} of CONFLUENCE_EVERYONE_GROUPS. Write "
            f"names as Confluence does. {_GROUPS_CURE}"
        )
        return Check("everyone", works=False, detail=told)

    async def _space(self, space: WikiSpace) -> Check:
        count = await self._count(space)
        pages = (
            f"{_MOST_PAGES} pages or more"
            if count > _MOST_PAGES
            else f"{count} page{'' if count == 1 else 's'}"
        )
        works, who = await self._who(space)
        if not count:
            return Check(
                f"space {space.key}", works=None, detail=f"no page is seen in it. {VIEW_CURE}"
            )
        return Check(f"space {space.key}", works=works, detail=f"{pages}, {who}")

    async def _count(self, space: WikiSpace) -> int:
        count = 0
        async for head in self._wiki.heads(space):
            self._sample.pages.setdefault(space, head)
            if head.updated_by and len(self._sample.authors) < _MOST_PEOPLE:
                self._sample.authors.add(head.updated_by)
            count += 1
            if count > _MOST_PAGES:
                break
        return count

    async def _who(self, space: WikiSpace) -> tuple[bool | None, str]:
        told = await self._told(space)
        said = self._rules.space_readers.get(space.key)
        readers = told.joined(said or Subjects())
        if readers.empty:
            unknown = unknown_principals(readers)
            return None, f"{unknown}." if unknown else _READERS_UNKNOWN
        if readers.anyone or readers.groups & await self._access.everyone():
            return True, "open to everyone"
        named = f"read by {self._named(readers)}"
        if readers.unknown and said is None:
            return None, f"{named}; {unknown_principals(readers)}."
        told_apart = self._cloud or self._directory
        return (True, named) if told_apart else (None, f"{named}; {_EMAILS_HIDDEN}")

    async def _told(self, space: WikiSpace) -> Subjects:
        try:
            return await self._wiki.space_readers(space)
        except NotVisible:
            return Subjects()

    def _named(self, readers: Subjects) -> str:
        """Return a summary such as "staff, admins, 2 more groups and 3 people"."""
        names = [self._names.get(each, "" if self._cloud else each) for each in readers.groups]
        names = sorted(filter(None, names))[:_NAMED]
        more = len(readers.groups) - len(names)
        told = names + ([f"{more} {'more ' if names else ''}{_groups(more)}"] if more else [])
        people = f"{len(readers.users)} {'person' if len(readers.users) == 1 else 'people'}"
        if readers.users:
            return f"{', '.join(told)} and {people}" if told else people
        return ", ".join(told)


def _groups(count: int) -> str:
    return "group" if count == 1 else "groups"


_RESTRICTIONS_CURE = "Until they can be read nobody is answered from any page."
_SEARCH_CURE = "What pages include of others stays a link."
INCLUDES_CURE = "leave out text that not all their readers may read"
_MOST_INCLUDING = 20
_FILES_CURE = "Let the token read them, or set CONFLUENCE_ATTACHMENTS=false."

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RightsChecks:
    """Checks permissions on a ``sample`` of pages."""

    wiki: Wiki
    settings: Settings
    sample: Sample

    async def all(self) -> Sequence[Check]:
        """Return the checks; empty where no page was visible."""
        if not self.sample.pages:
            return ()
        space, page = next(iter(self.sample.pages.items()))
        checks = [
            await run_check("restrictions", partial(self._restrictions, page), _RESTRICTIONS_CURE),
            await run_check("search", partial(self._search, space), _SEARCH_CURE),
        ]
        if self.settings.confluence_attachments:
            checks.append(await run_check("files", partial(self._files, space), _FILES_CURE))
        return [*checks, await run_check("people", self._people, VIEW_CURE, vital=False)]

    async def _restrictions(self, page: PageHead) -> Check:
        await self.wiki.marks_of(page.id)
        return Check("restrictions", works=True, detail="of pages can be read")

    async def _search(self, space: WikiSpace) -> Check:
        found = [
            page_id async for page_id in _first_items(self.wiki.including(space), _MOST_INCLUDING)
        ]
        narrower = await self._narrower(space, found)
        told = f"; of {len(found)} looked at in {space.key}, {narrower} {INCLUDES_CURE}"
        detail = f"finds what includes other pages{told if narrower else ''}"
        return Check("search", works=True, detail=detail)

    async def _narrower(self, space: WikiSpace, page_ids: Sequence[str]) -> int:
        """Return how many of these pages include text that not all their readers may read."""
        rules = replace(rules_of(self.settings), largest=0)
        looks = SpaceListing(
            self.wiki, space, rules, wanted=included_titles, now=lambda: datetime.now(UTC)
        )
        seen = await looks.some([await self.wiki.head(page_id) for page_id in page_ids])
        return sum(offer.narrower for offer in seen.offers.values())

    async def _files(self, space: WikiSpace) -> Check:
        await _first_item(self.wiki.attachments_in(space))
        megabytes = self.settings.confluence_attachment_mb
        return Check("files", works=True, detail=f"can be listed; up to {megabytes} MB are read")

    async def _people(self) -> Check:
        """Check whether colleagues can be matched with Confluence accounts, and how."""
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


async def _first_items(found: AsyncIterator[Item], most: int) -> AsyncIterator[Item]:
    async for each in found:
        yield each
        most -= 1
        if not most:
            return


async def _first_item(found: AsyncIterator[Item]) -> Item | None:
    async for each in found:
        return each
    return None
