"""Opens Confluence by the settings, for every process that reads it."""

from __future__ import annotations

from ingestion.config import Settings
from ingestion.confluence.client.opening import open_wiki
from ingestion.confluence.client.patience import Patience
from ingestion.confluence.known import ConfluenceSources
from ingestion.confluence.ports import WikiSite
from ingestion.confluence.rules import rules_of


def wiki_of(settings: Settings, patience: Patience | None = None) -> WikiSite | None:
    """Return the Confluence that is set, which the caller closes; None without one.

    ``patience`` is how long a request may take, if not the usual time. Raises SettingInvalid.
    """
    if settings.confluence_url is None or settings.confluence_token is None:
        return None
    return open_wiki(
        url=settings.confluence_url,
        token=settings.confluence_token.get_secret_value(),
        email=settings.confluence_email,
        edition=settings.confluence_edition,
        ca_file=settings.confluence_ca_file,
        patience=patience,
    )


def confluence_of(settings: Settings) -> ConfluenceSources | None:
    """Return the spaces of the Confluence that is set, to be closed; None without one.

    Raises SettingInvalid.
    """
    rules = rules_of(settings)
    wiki = wiki_of(settings)
    if wiki is None or settings.confluence_url is None:
        return None
    return ConfluenceSources(wiki, url=settings.confluence_url, rules=rules)
