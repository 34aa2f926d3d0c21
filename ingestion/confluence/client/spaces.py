"""The spaces that a token sees, by one rule for Cloud and Data Center."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence

from ingestion.confluence.client.answers import no_spaces
from ingestion.confluence.client.transport import Transport
from ingestion.confluence.errors import NotVisible
from ingestion.confluence.types import WikiSpace

Listed = Callable[[Sequence[str] | None], AsyncIterator[WikiSpace]]
"""Yields the spaces with these keys, or all; some twice, or others too, does no harm."""


async def seen_spaces(
    transport: Transport, listed: Listed, keys: Collection[str] | None
) -> Sequence[WikiSpace]:
    """Return the spaces with these keys, or all, each once. Raises WikiRefused without a list."""
    wanted = None if keys is None else sorted(set(keys))
    try:
        found = {space.key: space async for space in listed(wanted)}
    except NotVisible as error:
        raise no_spaces(str(transport.address.base), error) from error
    return tuple(space for space in found.values() if wanted is None or space.key in wanted)
