"""Find colleagues in Confluence: in a file, in Entra, or by the address shown there; cache them.

The settings decide which finders are used.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import structlog

from ingestion.config import Settings
from ingestion.confluence.people_file import PeopleFile
from ingestion.confluence.permissions import group_principal, user_principal
from ingestion.confluence.wiki import Wiki, normalized_email
from ingestion.errors import IngestionError
from rag.types import EVERYONE, BoundedDict, Principal

Value = TypeVar("Value")


class TtlCache(Generic[Value]):
    """Cache of values by text with a time to live. ``clock`` gives monotonic seconds."""

    def __init__(self, *, most: int, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._values = BoundedDict[str, tuple[float, Value]](most)

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

    async def named(self, names: Collection[str]) -> frozenset[str]:
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
        return _principals([person.account], await self._ids.named(person.groups))


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
        found = _principals([], await self._ids.named(names))
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
    from ingestion.confluence.graph import Graph, GraphToken

    token = GraphToken()
    graph = Graph(token)
    closing.push_async_callback(token.close)
    closing.push_async_callback(graph.close)
    return EntraFinder(graph.groups_of, wiki, ids)


EVERYBODY: Principals = frozenset({EVERYONE})

MOST_KEPT = 10_000
ANSWER_SECONDS = 3.0
FAILED_SECONDS = 60.0
LONGEST_SECONDS = 60.0
"""A look-up that goes on after its caller was answered is cancelled after this time."""

_MOST_AT_ONCE = 500
_WARNING_SECONDS = 60.0

_log = structlog.get_logger(__name__)


class Accounts:
    """Looks up the principals of people, at most one look-up per person at a time, and caches them.

    A person who is not found, or not in time, gets only the principal of everyone; no error is
    raised.

    Args:
        finder: the person finder.
        seconds: how long an answer is cached; a failure for a minute at most.
        patience: how many seconds a caller waits at most.
        most: how many people are cached.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        finder: PersonFinder,
        *,
        seconds: float,
        patience: float = ANSWER_SECONDS,
        most: int = MOST_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._finder = finder
        self._seconds = seconds
        self._patience = patience
        self._known: TtlCache[Principals] = TtlCache(most=most, clock=clock)
        self._asking: dict[str, asyncio.Task[Principals]] = {}
        self._warnings = ThrottledWarnings(clock)

    async def principals(self, email: str) -> Principals:
        """Return the principals of the owner of a verified address; always includes everyone."""
        key = normalized_email(email)
        known = self._known.get(key)
        if known is not None:
            return known
        task = self._asking.get(key) or self._begin(key)
        if task is None:
            self._warnings.log("too many people are being looked up", key)
            return EVERYBODY
        # The caller may be cancelled; the look-up goes on for the next one.
        done, _ = await asyncio.wait({task}, timeout=self._patience)
        if done and not task.cancelled():
            return task.result()
        self._warnings.log(f"it took longer than {self._patience:g} seconds", key)
        return EVERYBODY

    async def close(self) -> None:
        """Cancel running look-ups."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, key: str) -> asyncio.Task[Principals] | None:
        if len(self._asking) >= _MOST_AT_ONCE:
            return None
        task = asyncio.create_task(self._looked_up(key))
        self._asking[key] = task
        task.add_done_callback(lambda _: self._asking.pop(key, None))
        return task

    async def _looked_up(self, key: str) -> Principals:
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                found = await self._finder.find(key)
        except TimeoutError:
            return self._failed(f"it took longer than {LONGEST_SECONDS:g} seconds", key)
        except IngestionError as error:
            return self._failed(str(error), key)
        except Exception as error:  # noqa: BLE001 - in every doubt, everyone and no more
            return self._failed(type(error).__name__, key)
        if found is None:
            self._warnings.log("nobody there has the address", key)
        principals = EVERYBODY if found is None else found | EVERYBODY
        self._known.put(key, principals, seconds=self._seconds)
        return principals

    def _failed(self, why: str, key: str) -> Principals:
        self._warnings.log(why, key)
        self._known.put(key, EVERYBODY, seconds=min(FAILED_SECONDS, self._seconds))
        return EVERYBODY


class ThrottledWarnings:
    """Logs each kind of error once a minute, with a hash of the first address affected."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._logged: TtlCache[bool] = TtlCache(most=100, clock=clock)

    def log(self, why: str, email: str) -> None:
        if self._logged.get(why) is None:
            self._logged.put(why, value=True, seconds=_WARNING_SECONDS)
            _log.warning("directory.not_found", why=why, person=address_hash(email))


def address_hash(email: str) -> str:
    """Return a hash of an address by which log lines can be correlated."""
    return hashlib.sha256(normalized_email(email).encode()).hexdigest()[:12]


_AT_ONCE = 8
SHARE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class KnownShare:
    """Counts of people looked up; ``unsure`` could not be determined, ``trouble`` is one reason."""

    found: int = 0
    missing: int = 0
    unsure: int = 0
    trouble: str = ""

    @property
    def asked(self) -> int:
        return self.found + self.missing + self.unsure


async def known_share_of(
    finder: PersonFinder, emails: Collection[str], seconds: float = SHARE_SECONDS
) -> KnownShare:
    """Look up all people; those not looked up in time count as unsure."""
    places, told = asyncio.Semaphore(_AT_ONCE), list[bool | str]()

    async def look(email: str) -> None:
        async with places:
            try:
                told.append(await finder.find(email) is not None)
            except IngestionError as error:
                told.append(str(error))

    late = ""
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
            for email in emails:
                tasks.create_task(look(email))
    except TimeoutError:
        late = f"Not all could be looked up in {seconds:.0f} seconds."
    found, missing = told.count(True), told.count(False)
    return KnownShare(
        found=found,
        missing=missing,
        unsure=len(emails) - found - missing,
        trouble=next((each for each in told if isinstance(each, str)), late),
    )
