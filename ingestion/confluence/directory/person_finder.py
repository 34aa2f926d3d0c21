"""Find one colleague in Confluence: in a file, in Entra, or by the address shown there.

Answers are cached for a while. The settings decide which finders are used.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from ingestion.config import Settings
from ingestion.confluence.directory.people_file import PeopleFile
from ingestion.confluence.permissions import group_principal, user_principal
from ingestion.confluence.wiki import Wiki
from rag.types import Principal

Value = TypeVar("Value")


class TtlCache(Generic[Value]):
    """Cache of values by text with a time to live. ``clock`` gives monotonic seconds."""

    def __init__(self, *, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._values: OrderedDict[str, tuple[float, Value]] = OrderedDict()

    def get(self, key: str) -> Value | None:
        """Return the cached value that has not expired; None without one."""
        ends, value = self._values.get(key, (float("-inf"), None))
        if ends <= self._clock():
            self._values.pop(key, None)
            return None
        self._values.move_to_end(key)
        return value

    def put(self, key: str, value: Value, *, seconds: float) -> None:
        self._values[key] = (self._clock() + seconds, value)
        self._values.move_to_end(key)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def __len__(self) -> int:
        return len(self._values)


Principals = frozenset[Principal]
_MOST_NAMES = 10_000


class PersonFinder(Protocol):
    """Finds a person's principals. Raises IngestionError whenever the identity is in doubt."""

    async def find(self, email: str) -> Principals | None:
        """Return the principals of the owner of a lower-case address; None if it has none."""
        ...


GroupsOf = Callable[[str], Awaitable[Sequence[str] | None]]
"""Returns the names of all groups that the owner of an address is in; None for an unknown person.

Raises DirectoryUnavailable.
"""


class GroupIds:
    """Ids of Confluence groups by name, cached for a while."""

    def __init__(self, wiki: Wiki, *, seconds: float, clock: Callable[[], float]) -> None:
        self._wiki = wiki
        self._seconds = seconds
        self._kept: TtlCache[tuple[str, ...]] = TtlCache(most=_MOST_NAMES, clock=clock)

    async def of(self, names: Collection[str]) -> frozenset[str]:
        """Return the ids of those groups that exist. Raises IngestionError."""
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


class FileFinder:
    """Finds people in the people file. Implements ``PersonFinder``."""

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


class EntraFinder:
    """Finds people's groups in Entra and matches them with Confluence's by name.

    Implements ``PersonFinder``. People who show their address in Confluence also get their account
    and the groups that exist only there. Whoever may name groups in Entra thereby decides what
    people may read.
    """

    def __init__(self, groups_of: GroupsOf, wiki: Wiki, ids: GroupIds) -> None:
        self._groups_of = groups_of
        self._wiki = wiki
        self._ids = ids

    async def find(self, email: str) -> Principals | None:
        names = await self._groups_of(email)
        if names is None:
            return None
        found = _principals([], await self._ids.of(names))
        person = await self._wiki.user_of(email)
        own = frozenset[Principal]()
        if person is not None:
            own = await _with_own_groups(self._wiki, person.id)
        return found | own


class EmailFinder:
    """Finds people by the address that they show in Confluence. Implements ``PersonFinder``."""

    def __init__(self, wiki: Wiki) -> None:
        self._wiki = wiki

    async def find(self, email: str) -> Principals | None:
        person = await self._wiki.user_of(email)
        return None if person is None else await _with_own_groups(self._wiki, person.id)


class FirstMatchFinder:
    """Asks several finders; the first that finds the person decides. Implements PersonFinder."""

    def __init__(self, finders: Sequence[PersonFinder]) -> None:
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
    return frozenset({*map(user_principal, accounts), *map(group_principal, groups)})


ENTRA = "entra"


@asynccontextmanager
async def open_finder(
    settings: Settings, wiki: Wiki, *, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[PersonFinder]:
    """Open the finders: what CONFLUENCE_DIRECTORY names first, then Confluence itself."""
    named = settings.confluence_directory
    ids = GroupIds(wiki, seconds=settings.confluence_directory_minutes * 60, clock=clock)
    async with AsyncExitStack() as closing:
        if named is None:
            yield EmailFinder(wiki)
        elif named.strip().casefold() == ENTRA:
            yield FirstMatchFinder([_entra_finder(wiki, ids, closing), EmailFinder(wiki)])
        else:
            yield FirstMatchFinder(
                [FileFinder(PeopleFile(Path(named)), wiki, ids), EmailFinder(wiki)]
            )


def _entra_finder(wiki: Wiki, ids: GroupIds, closing: AsyncExitStack) -> EntraFinder:
    # Imported here, so that what is not configured is not imported.
    from ingestion.confluence.directory.graph import Graph, GraphToken

    token = GraphToken()
    graph = Graph(token)
    closing.push_async_callback(token.close)
    closing.push_async_callback(graph.close)
    return EntraFinder(graph.groups_of, wiki, ids)
