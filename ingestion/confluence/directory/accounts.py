"""Tell what a colleague may read of Confluence, and how many colleagues are known there."""

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
"""A look-up that goes on after its asker was answered ends then."""

_MOST_AT_ONCE = 500
_WARNING_SECONDS = 60.0

_log = structlog.get_logger(__name__)


class Accounts:
    """Looks people up, each once at a time, and believes the answer for a while.

    Who is not found, or not in time, is everyone and no more; never an error.

    Args:
        finds: who looks.
        seconds: how long an answer is believed; a failure for a minute at most.
        patience: how many seconds one who asks is kept waiting.
        most: how many people are remembered.
        clock: seconds that only grow.
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
        """Return the principals of whoever has a verified address; always with everyone."""
        key = normalized_email(email)
        known = self._known.get(key)
        if known is not None:
            return known
        task = self._asking.get(key) or self._begin(key)
        if task is None:
            self._complaints.say("too many people are being looked up", key)
            return EVERYBODY
        # Whoever asked may go; the look-up stays for the next one.
        done, _ = await asyncio.wait({task}, timeout=self._patience)
        if done and not task.cancelled():
            return task.result()
        self._complaints.say(f"it took longer than {self._patience:g} seconds", key)
        return EVERYBODY

    async def close(self) -> None:
        """End what is being looked up."""
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
    """Logs each kind of trouble once a minute, with whom it met first: not by their address."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._said: TtlCache[bool] = TtlCache(most=100, clock=clock)

    def say(self, why: str, email: str) -> None:
        if self._said.get(why) is None:
            self._said.put(why, value=True, seconds=_WARNING_SECONDS)
            _log.warning("directory.not_found", why=why, person=address_hash(email))


def address_hash(email: str) -> str:
    """Return a name for an address by which lines of a log can be compared."""
    return hashlib.sha256(normalized_email(email).encode()).hexdigest()[:12]


_AT_ONCE = 8
SHARE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class KnownShare:
    """``unsure`` are those of whom it could not be found out; ``trouble`` says why, of one."""

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
    """Look everybody up; who is not looked up in time is unsure."""
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
