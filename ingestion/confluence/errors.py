"""Errors of Confluence and of directories, failures in a row, and the result of one check.

Each message names the value and the cure, never a secret or an address.

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
from dataclasses import dataclass

from ingestion.errors import IngestionError, PageUnreadable, SettingInvalid, SourceUnavailable


class WikiUnavailable(SourceUnavailable):
    """Confluence gave no usable answer; trying later may help."""


class WikiRefused(SourceUnavailable):
    """Confluence does not take the token, or not for this."""


class EndpointGone(SourceUnavailable):
    """Confluence says that the endpoint was removed."""


class NotVisible(PageUnreadable):
    """It is not there, or the token may not see it; ``forbidden`` where Confluence said which."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden


class DirectoryInvalid(SettingInvalid):
    """The file of CONFLUENCE_DIRECTORY can't be read; nothing of it is taken."""


class DirectoryUnavailable(IngestionError):
    """Microsoft Graph did not tell; trying later, or another right, may help."""


_MOST_IN_A_ROW = 20


class FailureStreak:
    """Counts failures that come one after the other: a few are borne, then no more."""

    def __init__(self, most: int = _MOST_IN_A_ROW) -> None:
        self._most = most
        self._in_a_row = 0

    def bear(self, error: WikiUnavailable) -> None:
        """Note a failure. Raises it when it is one too many."""
        self._in_a_row += 1
        if self._in_a_row >= self._most:
            raise error

    def over(self) -> None:
        """Note that something went well."""
        self._in_a_row = 0


@dataclass(frozen=True, slots=True)
class Check:
    """``works`` None: it does not, and much is answered all the same.

    ``name`` is "" for the site itself. ``detail`` is what came of it, with the cure.
    """

    name: str
    works: bool | None
    detail: str


async def run_check(
    name: str, work: Callable[[], Awaitable[Check]], cure: str, *, vital: bool = True
) -> Check:
    """Return what came of it; what fails is broken, or without ``vital`` merely wanting."""
    try:
        return await work()
    except WikiRefused as error:
        # The token was taken before, so that what it lacks is this one right.
        return Check(name, works=False if vital else None, detail=f"{_scope_hint(error)} {cure}")
    except IngestionError as error:
        return Check(name, works=False if vital else None, detail=f"{error} {cure}")


def _scope_hint(error: WikiRefused) -> str:
    return f"{error} Other requests are answered, so it may lack a scope (docs/confluence.md)."
