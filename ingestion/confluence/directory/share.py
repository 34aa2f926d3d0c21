"""How many of some people are known in Confluence; counts, and nobody's name."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from ingestion.confluence.directory.finding import Finds
from ingestion.errors import IngestionError

_AT_ONCE = 8
SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Share:
    """``unsure`` are those of whom it could not be found out; ``trouble`` says why, of one."""

    found: int = 0
    missing: int = 0
    unsure: int = 0
    trouble: str = ""

    @property
    def asked(self) -> int:
        return self.found + self.missing + self.unsure


async def share_of(finder: Finds, emails: Collection[str], seconds: float = SECONDS) -> Share:
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
    return Share(
        found=found,
        missing=missing,
        unsure=len(emails) - found - missing,
        trouble=next((each for each in told if isinstance(each, str)), late),
    )
