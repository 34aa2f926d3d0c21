"""What both editions find by search (CQL): attachments of a space, pages that include others.

The search index lags a little behind what was edited.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from ingestion.confluence.client.paging import items, parts
from ingestion.confluence.client.shapes import ContentPart
from ingestion.confluence.client.telling import attachment_of
from ingestion.confluence.client.transport import Query, Transport
from ingestion.confluence.client.wording import in_cql
from ingestion.confluence.types import WikiAttachment, WikiSpace

SEARCH = "/rest/api/content/search"
_LIMIT = 100


async def attachments_in(transport: Transport, space: WikiSpace) -> AsyncIterator[WikiAttachment]:
    """Yield the current attachments of all pages of a space, each once."""
    cql = f"space = {in_cql(space.key)} and type = attachment order by created"
    query: Query = {"cql": cql, "expand": "version,container", "limit": _LIMIT}
    seen: set[str] = set()
    async for answer in parts(transport, SEARCH, query, of=ContentPart):
        base = answer.value.links.base or str(transport.address.base)
        for content in answer.value.results:
            attachment = attachment_of(content, base=base)
            if attachment is not None and attachment.id not in seen:
                seen.add(attachment.id)
                yield attachment


async def including(transport: Transport, space: WikiSpace) -> AsyncIterator[str]:
    """Yield the ids of current pages with an include or excerpt-include macro, each once."""
    cql = (
        f"space = {in_cql(space.key)} and type in (page, blogpost) "
        'and macro in ("include", "excerpt-include")'
    )
    seen: set[str] = set()
    async for content in items(transport, SEARCH, {"cql": cql, "limit": _LIMIT}, of=ContentPart):
        if content.id not in seen:
            seen.add(content.id)
            yield content.id
