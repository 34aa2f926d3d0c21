"""A local Confluence as somebody's token reads it, and who they are there."""

from __future__ import annotations

from ingestion.confluence.assembly import ConfluenceSite, open_wiki
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.permissions import group_principal, user_principal
from rag.types import EVERYONE, Principal
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN


def wiki_at(
    server: LocalConfluence, handle: str = ADMIN, *, patience: RetryLimits | None = None
) -> ConfluenceSite:
    """Open a site with somebody's token; whoever does closes it."""
    person = server.site.people[handle]
    return open_wiki(
        url=server.url,
        token=person.token,
        email=person.email if server.edition == "cloud" else None,
        edition=server.edition,
        patience=patience,
    )


def principals_at(server: LocalConfluence, handle: str) -> frozenset[Principal]:
    """Return what somebody is, by the names that the edition gives."""
    person, cloud = server.site.people[handle], server.edition == "cloud"
    groups = server.site.groups_of(handle)
    return frozenset(
        {
            EVERYONE,
            user_principal(person.account_id if cloud else person.user_key),
            *(group_principal(one.id if cloud else one.name) for one in groups),
        }
    )
