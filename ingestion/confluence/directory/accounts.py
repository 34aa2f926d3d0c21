"""Cache the Confluence principals of colleagues, and count how many colleagues can be found."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

import structlog

from ingestion.confluence.directory.person_finder import PersonFinder, Principals, TtlCache
from ingestion.confluence.wiki import normalized_email
from ingestion.errors import IngestionError
from rag.types import EVERYONE

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
        finds: the person finder.
        seconds: how long an answer is cached; a failure for a minute at most.
        patience: how many seconds a caller waits at most.
        most: how many people are cached.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        finds: PersonFinder,
        *,
        seconds: float,
        patience: float = ANSWER_SECONDS,
        most: int = MOST_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._finds = finds
        self._seconds = seconds
        self._patience = patience
        self._known: TtlCache[Principals] = TtlCache(most=most, clock=clock)
        self._asking: dict[str, asyncio.Task[Principals]] = {}
        self._complaints = ThrottledWarnings(clock)

    async def principals(self, email: str) -> Principals:
        """Return the principals of the owner of a verified address; always includes everyone."""
        key = normalized_email(email)
        known = self._known.get(key)
        if known is not None:
            return known
        task = self._asking.get(key) or self._begin(key)
        if task is None:
            self._complaints.say("too many people are being looked up", key)
            return EVERYBODY
        # The caller may be cancelled; the look-up goes on for the next one.
        done, _ = await asyncio.wait({task}, timeout=self._patience)
        if done and not task.cancelled():
            return task.result()
        self._complaints.say(f"it took longer than {self._patience:g} seconds", key)
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
                found = await self._finds.find(key)
        except TimeoutError:
            return self._failed(f"it took longer than {LONGEST_SECONDS:g} seconds", key)
        except IngestionError as error:
            return self._failed(str(error), key)
        except Exception as error:  # noqa: BLE001 - in every doubt, everyone and no more
            return self._failed(type(error).__name__, key)
        if found is None:
            self._complaints.say("nobody there has the address", key)
        principals = EVERYBODY if found is None else found | EVERYBODY
        self._known.put(key, principals, seconds=self._seconds)
        return principals

    def _failed(self, why: str, key: str) -> Principals:
        self._complaints.say(why, key)
        self._known.put(key, EVERYBODY, seconds=min(FAILED_SECONDS, self._seconds))
        return EVERYBODY


class ThrottledWarnings:
    """Logs each kind of error once a minute, with a hash of the first address affected."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._said: TtlCache[bool] = TtlCache(most=100, clock=clock)

    def say(self, why: str, email: str) -> None:
        if self._said.get(why) is None:
            self._said.put(why, value=True, seconds=_WARNING_SECONDS)
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
