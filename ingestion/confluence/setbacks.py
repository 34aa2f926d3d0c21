"""Tells trouble with single pages from a wiki that is down."""

from __future__ import annotations

from ingestion.confluence.errors import WikiUnavailable

_MOST_IN_A_ROW = 20


class Setbacks:
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
