"""Finds one colleague in Confluence: in a file, in Entra, by the address that they show there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from ingestion.confluence.directory.kept import Kept
from ingestion.confluence.directory.people_file import PeopleFile
from ingestion.confluence.permissions import group, user
from ingestion.confluence.ports import Wiki
from rag.types import Principal

Principals = frozenset[Principal]
_MOST_NAMES = 10_000


class Finds(Protocol):
    """Raises IngestionError for whatever leaves it in doubt who somebody is."""

    async def find(self, email: str) -> Principals | None:
        """Return the principals of whoever has an address in small letters; None for nobody."""
        ...


class TellsGroups(Protocol):
    """A directory of the company. Raises DirectoryUnavailable."""

    async def groups_of(self, email: str) -> Sequence[str] | None:
        """Return the names of all groups that a person is in; None for nobody."""
        ...


class GroupIds:
    """Ids of Confluence's groups by name, each asked for once in a while."""

    def __init__(self, wiki: Wiki, *, seconds: float, clock: Callable[[], float]) -> None:
        self._wiki = wiki
        self._seconds = seconds
        self._kept: Kept[tuple[str, ...]] = Kept(most=_MOST_NAMES, clock=clock)

    async def of(self, names: Collection[str]) -> frozenset[str]:
        """Return the ids of those that there are. Raises IngestionError."""
        try:
            async with asyncio.TaskGroup() as tasks:
                asked = [tasks.create_task(self._id(name)) for name in sorted(set(names))]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return frozenset(each for one in asked for each in one.result())

    async def _id(self, name: str) -> tuple[str, ...]:
        known = self._kept.get(name)
        if known is None:
            told = await self._wiki.group_named(name)
            known = () if told is None else (told.id,)
            self._kept.put(name, known, seconds=self._seconds)
        return known


class Listed:
    """Implements Finds by a file."""

    def __init__(self, file: PeopleFile, wiki: Wiki, ids: GroupIds) -> None:
        self._file = file
        self._wiki = wiki
        self._ids = ids

    async def find(self, email: str) -> Principals | None:
        person = (await self._file.people()).get(email)
        if person is None:
            return None
        if person.groups is None:
            return await _with_own_groups(self._wiki, person.account)
        return _principals([person.account], await self._ids.of(person.groups))


class InEntra:
    """Implements Finds by Entra's groups, whose names are compared with Confluence's.

    Who shows their address in Confluence also has their account, and the groups that are only
    there. Whoever may name groups in Entra says by that what people may read.
    """

    def __init__(self, entra: TellsGroups, wiki: Wiki, ids: GroupIds) -> None:
        self._entra = entra
        self._wiki = wiki
        self._ids = ids

    async def find(self, email: str) -> Principals | None:
        names = await self._entra.groups_of(email)
        if names is None:
            return None
        found = _principals([], await self._ids.of(names))
        person = await self._wiki.user_of(email)
        own = frozenset[Principal]()
        if person is not None:
            own = await _with_own_groups(self._wiki, person.id)
        return found | own


class Shown:
    """Implements Finds by the address that somebody shows in Confluence."""

    def __init__(self, wiki: Wiki) -> None:
        self._wiki = wiki

    async def find(self, email: str) -> Principals | None:
        person = await self._wiki.user_of(email)
        return None if person is None else await _with_own_groups(self._wiki, person.id)


class FirstOf:
    """Implements Finds by several, of which the first that knows somebody says all."""

    def __init__(self, finders: Sequence[Finds]) -> None:
        self._finders = tuple(finders)

    async def find(self, email: str) -> Principals | None:
        for finder in self._finders:
            found = await finder.find(email)
            if found is not None:
                return found
        return None


async def _with_own_groups(wiki: Wiki, account: str) -> Principals:
    return _principals([account], [one.id for one in await wiki.groups_of(account)])


def _principals(accounts: Iterable[str], groups: Iterable[str]) -> Principals:
    return frozenset({*map(user, accounts), *map(group, groups)})
