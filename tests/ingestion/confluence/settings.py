"""Settings for a Confluence that runs here."""

from __future__ import annotations

from ingestion.config import Settings
from tests.confluence.server import LocalConfluence
from tests.confluence.society import ADMIN


def wiki_settings(
    server: LocalConfluence, *, directory: str | None = None, last_check: bool = False
) -> Settings:
    """Return the settings that name a site, and its admin's token."""
    person = server.site.people[ADMIN]
    given: dict[str, object] = {
        "confluence_url": server.url,
        "confluence_token": person.token,
        "confluence_email": person.email if server.edition == "cloud" else None,
        "confluence_edition": server.edition,
        "confluence_directory": directory,
        "confluence_last_check": last_check,
    }
    return Settings(_env_file=None, **given)  # type: ignore[arg-type]
