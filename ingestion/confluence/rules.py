"""What the settings say of reading Confluence, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ingestion.config import Settings
from ingestion.confluence.permissions import space_readers
from ingestion.confluence.selection import Selection
from ingestion.confluence.types import Subjects

_MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is read, and who counts as everyone.

    ``everyone_groups`` are names. ``space_readers`` may view a space besides those whom
    Confluence names. ``largest`` is in bytes, of an attachment; 0: attachments are not read.
    """

    selection: Selection = field(default_factory=Selection)
    everyone_groups: tuple[str, ...] = ()
    space_readers: Mapping[str, Subjects] = field(default_factory=dict)
    largest: int = 20 * _MB


def rules_of(settings: Settings) -> Rules:
    """Return the rules that settings write. Raises SettingInvalid."""
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
