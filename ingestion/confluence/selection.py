"""Which spaces and pages are read, and why others are not. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingestion.confluence.types import PageHead, WikiSpace

_PERSONAL = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the settings say. Empty means no bound; what is left out wins over what is taken."""

    spaces: frozenset[str] = frozenset()
    skip_spaces: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    skip_labels: frozenset[str] = frozenset()
    ancestors: frozenset[str] = frozenset()
    skip_ancestors: frozenset[str] = frozenset()
    oldest: timedelta | None = None

    def space(self, space: WikiSpace) -> str:
        """Return why a space is not read, or "". Personal ones are read only if they are named."""
        key = space.key
        if key in self.skip_spaces:
            return "CONFLUENCE_SKIP_SPACES names it"
        if self.spaces and key not in self.spaces:
            return "CONFLUENCE_SPACES does not name it"
        if key.startswith(_PERSONAL) and key not in self.spaces:
            return "a personal space; name it in CONFLUENCE_SPACES to have it read"
        return "it is archived in Confluence" if space.archived else ""

    def page(
        self, head: PageHead, *, labels: Collection[str], chain: Collection[str], now: datetime
    ) -> str:
        """Return why a page is left out, or ""; ``chain`` are the ids of what it hangs under."""
        place = {head.id, *chain}
        if not self.skip_ancestors.isdisjoint(place):
            return "CONFLUENCE_SKIP_ANCESTORS names it or a page above it"
        if self.ancestors and self.ancestors.isdisjoint(place):
            return "is not below a page of CONFLUENCE_ANCESTORS"
        return self._by_labels(frozenset(labels)) or self._by_age(head, now)

    def _by_labels(self, labels: frozenset[str]) -> str:
        unwanted = sorted(self.skip_labels & labels)
        if unwanted:
            return f"has the label {unwanted[0]!r} of CONFLUENCE_SKIP_LABELS"
        if self.labels and self.labels.isdisjoint(labels):
            return "has no label of CONFLUENCE_LABELS"
        return ""

    def _by_age(self, head: PageHead, now: datetime) -> str:
        if self.oldest is None or now - head.updated_at <= self.oldest:
            return ""
        return f"was not changed for more than {self.oldest.days} days (CONFLUENCE_OLDEST_DAYS)"
