"""What one who looks may see of recorded outcomes: only what is on pages they may read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import structlog

from bot.clarification import option_of
from bot.escalations.finding import is_open
from bot.escalations.reading import Readable
from bot.types import Escalation, FoundPassage, Interaction, Outcome, Reply, Response, Source
from rag.errors import RagError
from rag.types import Chunk, Principal

log = structlog.get_logger(__name__)

Named = Source | FoundPassage

Found = TypeVar("Found", Source, FoundPassage)


@dataclass(frozen=True, slots=True)
class Sight:
    """The passages that may be read, by id; ``blind`` when the index could not be asked."""

    passages: Mapping[str, Chunk] = field(default_factory=dict)
    blind: bool = False

    def seen(self, found: Iterable[Found]) -> tuple[Found, ...]:
        """Return those that may be seen."""
        return tuple(each for each in found if is_open(each, self.passages))

    def hidden(self, found: Sequence[Found]) -> int:
        """Return how many there are besides."""
        return len(found) - len(self.seen(found))

    def shows(self, response: Response) -> bool:
        """Tell whether the words of a response may be seen.

        An answer quotes its sources and a question back may name them; what is said when a
        question is handed over is always the same.
        """
        return isinstance(response, Escalation) or all(
            is_open(each, self.passages) and self.quotes(each) for each in sources_of(response)
        )

    def offers(self, options: Iterable[str]) -> tuple[str, ...]:
        """Return what was offered that names a passage that may be read: more is than cited."""
        named = frozenset(map(option_of, self.passages.values()))
        return tuple(option for option in options if option in named)

    def quotes(self, source: Source) -> bool:
        """Tell whether the words that were quoted are still on the page that may be read."""
        chunk = self.passages.get(source.chunk_id)
        return chunk is not None and source.quote in chunk.text


async def sight(
    readable: Readable,
    tenant: str,
    interactions: Iterable[Interaction],
    readers: frozenset[Principal],
) -> Sight:
    """Return what of some outcomes may be seen; nothing while the index is away."""
    outcomes = [each.outcome for each in interactions if each.outcome is not None]
    named = list(chain.from_iterable(map(_named, outcomes)))
    try:
        return Sight(await readable.readable(tenant, named, readers))
    except RagError as error:
        log.warning("board.index_unavailable", why=str(error))
        return Sight(blind=True)


def sources_of(response: Response) -> tuple[Source, ...]:
    """Return the pages that a response cites or offers."""
    return response.sources if isinstance(response, Reply) else response.suggestions


def _named(outcome: Outcome) -> Iterable[Named]:
    yield from sources_of(outcome.response)
    yield from outcome.trace.passages
    if outcome.private is not None:
        yield from outcome.private.sources
