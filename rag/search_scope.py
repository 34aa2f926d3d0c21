"""What a search is limited to, what it depends on, and which searches a question leads to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

from rag.types import Principal, Question


@dataclass(frozen=True, slots=True)
class Scope:
    """The limits of a search: tenant, the readers' principals, and the filters of `Question`."""

    tenant: str
    readers: frozenset[Principal]
    spaces: frozenset[str] | None = None
    source_type: str | None = None
    excluded_pages: frozenset[str] = frozenset()
    label: str | None = None
    changed_since: datetime | None = None

    def question(self, text: str) -> Question:
        """Return a search question limited to this scope, without vectors."""
        return Question(
            text=text,
            tenant=self.tenant,
            spaces=self.spaces,
            source_type=self.source_type,
            excluded_pages=self.excluded_pages,
            label=self.label,
            changed_since=self.changed_since,
        )


class KnowsRevisions(Protocol):
    """Tells whether two searches of an index find the same. Raises IndexUnavailable."""

    async def revision(
        self, tenant: str, spaces: frozenset[str] | None, readers: frozenset[Principal]
    ) -> str | None:
        """Return a token of what these readers find in some spaces (None: all) of a tenant.

        Two readers who may read different pages there never have the same token, and none is
        repeated after a page of these spaces was written, removed or given other readers. None if
        the index can't vouch for that just now, or does not know.
        """
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of a question whose translation is searched for, and their BCP-47 language tag."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class PlannedSearch:
    """A search that a model made for a question in its own words, and how much it found."""

    query: str
    space: str | None
    label: str | None
    changed_since: date | None
    found: int
