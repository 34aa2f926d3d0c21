"""Apply the settings that select spaces and pages and define who counts as everyone. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ingestion.config import Settings
from ingestion.confluence.permissions import space_readers
from ingestion.confluence.wiki import PageHead, Subjects, WikiSpace

_PERSONAL = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The configured selection. Empty means no limit; exclusions win over inclusions."""

    spaces: frozenset[str] = frozenset()
    skip_spaces: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    skip_labels: frozenset[str] = frozenset()
    ancestors: frozenset[str] = frozenset()
    skip_ancestors: frozenset[str] = frozenset()
    oldest: timedelta | None = None

    def space(self, space: WikiSpace) -> str:
        """Return why a space is excluded, or "". Personal spaces are read only if named."""
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
        """Return why a page is excluded, or ""; ``chain`` are the ids of its ancestors."""
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


_MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is read, and who counts as everyone.

    ``everyone_groups`` are names. ``space_readers`` may view a space in addition to those whom
    Confluence names. ``largest`` is the size limit of an attachment in bytes; 0: attachments are
    not read.
    """

    selection: Selection = field(default_factory=Selection)
    everyone_groups: tuple[str, ...] = ()
    space_readers: Mapping[str, Subjects] = field(default_factory=dict)
    largest: int = 20 * _MB


def rules_of(settings: Settings) -> Rules:
    """Return the rules that the settings define. Raises SettingInvalid."""
    days = settings.confluence_oldest_days
    return Rules(
        selection=Selection(
            spaces=frozenset(settings.confluence_spaces),
            skip_spaces=frozenset(settings.confluence_skip_spaces),
            labels=frozenset(settings.confluence_labels),
            skip_labels=frozenset(settings.confluence_skip_labels),
            ancestors=frozenset(settings.confluence_ancestors),
            skip_ancestors=frozenset(settings.confluence_skip_ancestors),
            oldest=timedelta(days=days) if days else None,
        ),
        everyone_groups=settings.confluence_everyone_groups,
        space_readers=space_readers(settings.confluence_space_readers),
        largest=settings.confluence_attachment_mb * _MB if settings.confluence_attachments else 0,
    )
