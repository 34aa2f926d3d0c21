"""Errors of Confluence and directories, a counter of failures in a row, and checks.

Each message names the value and the remedy, never a secret or an address.

- SourceUnavailable (ingestion.errors)
  - WikiUnavailable     no usable answer after all tries: connection, 5xx, 429, no JSON
  - WikiRefused         the token is wrong or may not do this at all (401; 403 for everything)
  - EndpointGone        410: this Confluence has no such endpoint any more
- PageUnreadable (ingestion.errors)
  - NotVisible          one page, space or user answers 403 or 404
- SettingInvalid (ingestion.errors)
  - DirectoryInvalid    the file can't be read, or a line of it
- DirectoryUnavailable  Microsoft Graph gave no usable answer
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ingestion.errors import IngestionError, PageUnreadable, SettingInvalid, SourceUnavailable
from rag.types import Check


class WikiUnavailable(SourceUnavailable):
    """Confluence gave no usable answer; retrying later may help."""


class WikiRefused(SourceUnavailable):
    """Confluence rejects the token, or its right to this operation."""


class EndpointGone(SourceUnavailable):
    """The endpoint was removed (410)."""


class NotVisible(PageUnreadable):
    """The content is missing or hidden; ``forbidden`` where Confluence said that it is hidden."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden


class DirectoryInvalid(SettingInvalid):
    """The file of CONFLUENCE_DIRECTORY is invalid; none of it is used."""


class DirectoryUnavailable(IngestionError):
    """Microsoft Graph gave no usable answer; retrying later, or another right, may help."""


_MOST_IN_A_ROW = 20


class FailureStreak:
    """Counts consecutive failures and tolerates a limited number of them."""

    def __init__(self, most: int = _MOST_IN_A_ROW) -> None:
        self._most = most
        self._in_a_row = 0

    def count(self, error: WikiUnavailable) -> None:
        """Record a failure. Raises it when the limit is exceeded."""
        self._in_a_row += 1
        if self._in_a_row >= self._most:
            raise error

    def reset(self) -> None:
        """Record a success, which ends the streak."""
        self._in_a_row = 0


async def run_check(
    name: str, work: Callable[[], Awaitable[Check]], cure: str, *, vital: bool = True
) -> Check:
    """Return the result of a check; a failure is broken, or without ``vital`` a warning."""
    try:
        return await work()
    except WikiRefused as error:
        # The token was accepted before, so only this one right is missing.
        return Check(name, works=False if vital else None, detail=f"{_scope_hint(error)} {cure}")
    except IngestionError as error:
        return Check(name, works=False if vital else None, detail=f"{error} {cure}")


def _scope_hint(error: WikiRefused) -> str:
    return f"{error} Other requests are answered, so it may lack a scope (docs/confluence.md)."
