"""Goes through an answer of many parts by its ``next`` links, never to another site, never round.

A part without a ``next`` link is the last one, but where Confluence counts (``start`` and
``limit``): there a full part may have another after it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from pydantic import BaseModel, Field
from yarl import URL

from ingestion.confluence.client.address import Address
from ingestion.confluence.client.patience import Patience
from ingestion.confluence.client.transport import Answer, Query, Transport
from ingestion.confluence.errors import WikiUnavailable

Item = TypeVar("Item")

MOST_PARTS = 50_000
_API = re.compile(r"/(?:api/v2|rest/api)/.*$")


class Links(BaseModel):
    """Where the next part is, and what page addresses of this answer begin with."""

    next: str | None = None
    base: str = ""


class Part(BaseModel, Generic[Item]):
    """One answer of a listing; ``start`` and ``limit`` where Confluence counts."""

    results: tuple[Item, ...]
    links: Links = Field(default_factory=Links, alias="_links")
    start: int | None = None
    limit: int | None = None


async def parts(
    transport: Transport,
    path: str,
    query: Query,
    *,
    of: type[Part[Item]],
    counted: bool = False,
    patience: Patience | None = None,
) -> AsyncIterator[Answer[Part[Item]]]:
    """Yield the answers of a listing, the first with ``query``.

    Raises WikiUnavailable where the links go round, elsewhere, or on without end.
    """
    url = transport.address.below(path).update_query(query)
    seen = {str(url)}
    for _ in range(MOST_PARTS):
        answer = await transport.follow(url, shape=of, patience=patience)
        yield answer
        following = _next(transport.address, url, answer.value, counted=counted)
        if following is None:
            return
        if str(following) in seen:
            raise WikiUnavailable(f"The listing {url.raw_path} goes round: its parts repeat.")
        seen.add(str(following))
        url = following
    raise WikiUnavailable(f"The listing {path} has more than {MOST_PARTS} parts.")


async def items(
    transport: Transport,
    path: str,
    query: Query,
    *,
    of: type[Part[Item]],
    counted: bool = False,
    patience: Patience | None = None,
) -> AsyncIterator[Item]:
    """Yield what a listing holds, part by part."""
    async for answer in parts(transport, path, query, of=of, counted=counted, patience=patience):
        for item in answer.value.results:
            yield item


def _next(address: Address, url: URL, part: Part[Item], *, counted: bool) -> URL | None:
    if part.links.next:
        return _followed(address, part.links)
    full = counted and part.limit is not None and 0 < part.limit <= len(part.results)
    if not full:
        return None
    return url.update_query(start=(part.start or 0) + len(part.results))


def _followed(address: Address, links: Links) -> URL:
    """Return the address that a link means, which is always one below the site's base.

    Confluence writes it relative to the host, to the site, or in whole; behind the gateway of
    api.atlassian.com it names the site itself. What counts is its part from the API on.
    """
    link = _url(links.next or "")
    if link.host and not (link.scheme and link.origin() in _origins(address, links)):
        raise WikiUnavailable(
            f"A listing goes on at {link.host}, which is not {address.base.host}: not followed."
        )
    found = _API.search(link.raw_path)
    if found is None or "/../" in found[0]:
        raise WikiUnavailable(f"A listing goes on at what is no part of the API: {link.raw_path}.")
    return address.below(f"{found[0]}?{link.raw_query_string}")


def _origins(address: Address, links: Links) -> set[URL]:
    base = _url(links.base)
    return {address.origin, base.origin()} if base.host and base.scheme else {address.origin}


def _url(text: str) -> URL:
    try:
        return URL(text, encoded=True)
    except ValueError:
        return URL()
