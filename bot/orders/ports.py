"""What orders need from outside, as Protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.documents.documents import Document, Run, SeenBy, Space


class KnowsGroups(Protocol):
    """A platform's groups. Raises bot.errors.DeliveryFailed while it can't be asked."""

    async def in_group(self, person_id: str, group_id: str) -> bool: ...


class KnowsSpaces(Protocol):
    """What is indexed. Raises bot.errors.StoreUnavailable."""

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]: ...

    async def at(self, urls: Sequence[str], seen_by: SeenBy) -> Document | None:
        """Return the document at the first of these addresses that has one."""
        ...


class FindsSpaces(Protocol):
    """Where pages come from. Raises bot.errors.DocumentRefused while that can't be asked."""

    async def find_space(self, url: str) -> str | None:
        """Return the space of the page at an address, indexed or not; None for none of ours."""
        ...


class FollowsRuns(Protocol):
    """Runs of all processes. Raises bot.errors.StoreUnavailable."""

    async def get(self, run_id: str) -> Run | None: ...
