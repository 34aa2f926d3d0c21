"""The fuller answer that only its asker may read, checked again whenever they ask to see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from bot.domain.ports import StillReadable
from bot.domain.text.source_links import with_public_links
from bot.domain.types import Interaction, Reply, Source
from bot.escalations.reading import Readable, is_open
from bot.readers import Reader
from rag.errors import RagError
from rag.types import Chunk, Principal

NOTHING_MORE = "There is nothing more for you to read about this."
CHANGED = (
    "The pages behind this have changed, or you may not read them any more, so I can't show it. "
    "Please ask the question again."
)
UNSURE = "I can't tell just now what you may read, so I show nothing. Please try again in a minute."

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Fuller:
    """A reply for the asker alone; where it is None, ``why_not`` says why, to the asker."""

    reply: Reply | None
    why_not: str = ""


class FullerReplies:
    """Hands out what was kept for an asker, whole or not at all.

    ``public_url`` makes links to this server's own pages open from anywhere. ``still`` takes a
    last look at the pages themselves.
    """

    def __init__(
        self,
        readable: Readable,
        *,
        public_url: str | None = None,
        still: StillReadable | None = None,
    ) -> None:
        self._readable = readable
        self._still = still
        self._public_url = public_url

    async def of(self, interaction: Interaction, reader: Reader) -> Fuller:
        """Return the fuller reply to a question, for its asker, who may read what ``reader`` may.

        That it is the asker who wants to see it is for the caller to know.
        """
        outcome = interaction.outcome
        if outcome is None or outcome.private is None:
            return Fuller(None, NOTHING_MORE)
        private = outcome.private
        tenant = interaction.message.thread.tenant
        try:
            found = await self._readable.readable(tenant, private.sources, reader.principals)
        except RagError as error:
            _log.warning("fuller.index_unavailable", why=str(error))
            return Fuller(None, UNSURE)
        may_read = reader.among(found)
        if not private.sources or not all(_holds(each, may_read) for each in private.sources):
            return Fuller(None, CHANGED)
        chunks = list(may_read.values())
        if not await self._are_still_readable(tenant, chunks, reader.principals):
            return Fuller(None, CHANGED)
        return Fuller(with_public_links(outcome, self._public_url).private)

    async def _are_still_readable(
        self, tenant: str, chunks: Sequence[Chunk], reader: frozenset[Principal]
    ) -> bool:
        if self._still is None:
            return True
        readable = await self._still.still(tenant, chunks, reader)
        return all(chunk.id in readable for chunk in chunks)


def _holds(source: Source, may_read: Mapping[str, Chunk]) -> bool:
    """Tell whether a page may be read and still says what was quoted from it."""
    return is_open(source, may_read) and source.quote in may_read[source.chunk_id].text
