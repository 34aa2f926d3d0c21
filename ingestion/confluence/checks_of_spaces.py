"""Tries spaces one by one: what is in them, and who may read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ingestion.confluence.access import Access, not_understood
from ingestion.confluence.check import Check, tried
from ingestion.confluence.errors import NotVisible
from ingestion.confluence.ports import Wiki
from ingestion.confluence.rules import Rules
from ingestion.confluence.types import PageHead, Subjects, WikiSpace, WikiUser
from ingestion.errors import IngestionError

_MOST_SPACES = 50
_MOST_PAGES = 1000
_MOST_PEOPLE = 10
_NAMED = 5
VIEW = "See that the token's account may view it."
_GROUPS = "See that the token's account may view groups."
_UNKNOWN = (
    "who may read it can't be read, so nobody is answered from it. Let the token's account see the "
    "space's permissions, or set CONFLUENCE_SPACE_READERS."
)
_CLOSED = (
    "Data Center tells nobody's e-mail address, so nobody is answered from it. Name a group that "
    "every colleague is in by CONFLUENCE_EVERYONE_GROUPS, or set CONFLUENCE_DIRECTORY."
)


@dataclass(slots=True)
class Sample:
    """The first page that was seen in each space, and some who wrote pages."""

    pages: dict[WikiSpace, PageHead] = field(default_factory=dict)
    authors: set[str] = field(default_factory=set)


class SpaceChecks:
    """Tries spaces.

    Args:
        wiki: who is asked.
        rules: which spaces are read, and who everyone is.
        cloud: whether it is Cloud, which gives groups ids, and may show e-mail addresses.
        directory: whether it is set which colleague is whom in Confluence.
    """

    def __init__(self, wiki: Wiki, rules: Rules, *, cloud: bool, directory: bool) -> None:
        self._wiki = wiki
        self._rules = rules
        self._cloud = cloud
        self._directory = directory
        self._access = Access(wiki, everyone_groups=rules.everyone_groups)
        self._names: Mapping[str, str] = {}
        self._sample = Sample()

    async def all(
        self, spaces: Sequence[WikiSpace], account: WikiUser | None
    ) -> tuple[Sequence[Check], Sample]:
        """Return what came of it, and what was seen; ``account`` is whose token it is."""
        await self._learn_names(account)
        shown = spaces[:_MOST_SPACES]
        checks: list[Check] = []
        if self._rules.everyone_groups:
            checks.append(await tried("everyone", self._everyone, _GROUPS))
        checks += [await self._tried(space) for space in shown]
        if len(spaces) > len(shown):
            told = f"{len(spaces) - len(shown)} more were not looked at one by one"
            checks.append(Check("further spaces", works=True, detail=told))
        return checks, self._sample

    async def _tried(self, space: WikiSpace) -> Check:
        return await tried(f"space {space.key}", partial(self._space, space), VIEW)

    async def _learn_names(self, account: WikiUser | None) -> None:
        """Learn what groups are called, as far as the account is in them; Cloud tells ids."""
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
            f"names as Confluence does. {_GROUPS}"
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
            return Check(f"space {space.key}", works=None, detail=f"no page is seen in it. {VIEW}")
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
            unknown = not_understood(readers)
            return None, f"{unknown}." if unknown else _UNKNOWN
        if readers.anyone or readers.groups & await self._access.everyone():
            return True, "open to everyone"
        named = f"read by {self._named(readers)}"
        if readers.unknown and said is None:
            return None, f"{named}; {not_understood(readers)}."
        told_apart = self._cloud or self._directory
        return (True, named) if told_apart else (None, f"{named}; {_CLOSED}")

    async def _told(self, space: WikiSpace) -> Subjects:
        try:
            return await self._wiki.space_readers(space)
        except NotVisible:
            return Subjects()

    def _named(self, readers: Subjects) -> str:
        """Return "staff, admins, 2 more groups and 3 people"."""
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
