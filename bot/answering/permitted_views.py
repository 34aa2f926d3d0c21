"""Show a recorded search, earlier exchange or private answer as far as its reader may read it.

People who take over a question see what was found for it and why that was not enough; an asker sees
the fuller, private answer whole or not at all. Both are checked again whenever they are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from bot.answering.asker_identity import Reader
from bot.answering.visibility import ReadablePassages, Visibility, is_open, sources_of
from bot.domain.interactions import Escalation, Interaction, Reply, Source
from bot.domain.messages import FoundPassage, InteractionId
from bot.domain.ports import StillReadable
from bot.domain.text.source_links import with_public_links
from rag.errors import RagError
from rag.types import Chunk, Principal


@dataclass(frozen=True, slots=True)
class SearchFinding:
    """What the search for ``question`` gave, and what the gate made of it.

    ``question`` is as its asker wrote it: what was searched for may have others' words in it.

    ``interaction_id`` is the exchange that was searched for: the escalated one, or, when somebody
    only asked for a person, the one before it. ``gate`` is "stopped", "passed", or "" where there
    was nothing to judge, "unsure" where the answer was shown as a guess. ``missing`` is what that
    answer, or part of one, says that the pages lack. ``hidden`` counts the pages that are left out:
    the reader may not read them, or they have changed since.
    """

    interaction_id: InteractionId
    question: str
    gate: str
    confidence: float | None
    threshold: float | None
    suggestions: tuple[Source, ...] = ()
    passages: tuple[FoundPassage, ...] = ()
    hidden: int = 0
    missing: str = ""


@dataclass(frozen=True, slots=True)
class EarlierExchange:
    """One earlier question of the same asker, and what the bot said to everyone in its thread.

    ``answer`` is empty while there is none, and where ``withheld``: it quotes what the reader may
    not read.
    """

    interaction_id: InteractionId
    question: str
    answer: str
    asked_at: datetime
    withheld: bool = False


def searched_exchange(escalated: Interaction, before: Sequence[Interaction]) -> Interaction:
    """Return the exchange whose search explains an escalation; ``before`` is oldest first."""
    response = escalated.outcome.response if escalated.outcome else None
    if isinstance(response, Escalation) and response.reason == "asked_for_human":
        return next((each for each in reversed(before) if _has_searched(each)), escalated)
    return escalated


def finding_of(interaction: Interaction, seen: Visibility) -> SearchFinding | None:
    """Return what was found, as far as it may be read; None before there is an outcome."""
    outcome = interaction.outcome
    if outcome is None:
        return None
    suggestions = tuple(_readable_sources(sources_of(outcome.response), seen))
    passages = seen.seen(outcome.trace.passages)
    return SearchFinding(
        interaction_id=interaction.id,
        question=seen.question(interaction),
        gate=outcome.trace.gate,
        confidence=outcome.response.confidence,
        threshold=outcome.trace.threshold,
        suggestions=suggestions,
        passages=passages,
        missing=seen.missing(outcome),
        hidden=len(
            _page_ids(found_passages_of(interaction)) - _page_ids(suggestions) - _page_ids(passages)
        ),
    )


def exchange_of(interaction: Interaction, seen: Visibility) -> EarlierExchange:
    """Return an earlier exchange; an answer is shown whole or not at all."""
    answer, withheld = "", False
    if interaction.outcome is not None:
        response = seen.retold(interaction.outcome)
        answer, shown = response.text, seen.shows(response)
        withheld = not shown or seen.repeats(interaction.outcome)
    return EarlierExchange(
        interaction_id=interaction.id,
        question=seen.question(interaction),
        answer="" if withheld else answer,
        asked_at=interaction.created_at,
        withheld=withheld,
    )


def found_passages_of(interaction: Interaction) -> tuple[Source | FoundPassage, ...]:
    """Return every passage that the record of an exchange names."""
    outcome = interaction.outcome
    return () if outcome is None else (*sources_of(outcome.response), *outcome.trace.passages)


def context_exchanges(interaction: Interaction) -> tuple[InteractionId, ...]:
    """Return the earlier exchanges that a question took words from, oldest first."""
    outcome = interaction.outcome
    return () if outcome is None else outcome.trace.route.leaned_on


def _page_ids(found: Iterable[Source | FoundPassage]) -> set[str]:
    return {each.page_id for each in found}


def _has_searched(interaction: Interaction) -> bool:
    return interaction.outcome is not None and bool(interaction.outcome.trace.gate)


def _readable_sources(sources: Sequence[Source], seen: Visibility) -> Iterable[Source]:
    """Yield what may be read; a quote only while it is still on the page."""
    for source in seen.seen(sources):
        yield source if seen.quotes(source) else replace(source, quote="")


NOTHING_MORE = "There is nothing more for you to read about this."
PAGES_CHANGED = (
    "The pages behind this have changed, or you may not read them any more, so I can't show it. "
    "Please ask the question again."
)
READABILITY_NOT_KNOWN = (
    "I can't tell just now what you may read, so I show nothing. Please try again in a minute."
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PrivateAnswer:
    """A reply for the asker alone; where it is None, ``why_not`` says why, to the asker."""

    reply: Reply | None
    why_not: str = ""


class PrivateAnswers:
    """Hands out what was kept for an asker, whole or not at all.

    ``public_url`` makes links to this server's own pages open from anywhere. ``still`` takes a
    last look at the pages themselves.
    """

    def __init__(
        self,
        readable: ReadablePassages,
        *,
        public_url: str | None = None,
        still: StillReadable | None = None,
    ) -> None:
        self._readable = readable
        self._still = still
        self._public_url = public_url

    async def of(self, interaction: Interaction, reader: Reader) -> PrivateAnswer:
        """Return the fuller reply to a question, for its asker, who may read what ``reader`` may.

        That it is the asker who wants to see it is for the caller to know.
        """
        outcome = interaction.outcome
        if outcome is None or outcome.private is None:
            return PrivateAnswer(None, NOTHING_MORE)
        private = outcome.private
        tenant = interaction.message.thread.tenant
        try:
            found = await self._readable.readable(tenant, private.sources, reader.principals)
        except RagError as error:
            _log.warning("fuller.index_unavailable", why=str(error))
            return PrivateAnswer(None, READABILITY_NOT_KNOWN)
        may_read = reader.among(found)
        if not private.sources or not all(
            _still_quotes(each, may_read) for each in private.sources
        ):
            return PrivateAnswer(None, PAGES_CHANGED)
        chunks = list(may_read.values())
        if not await self._are_still_readable(tenant, chunks, reader.principals):
            return PrivateAnswer(None, PAGES_CHANGED)
        return PrivateAnswer(with_public_links(outcome, self._public_url).private)

    async def _are_still_readable(
        self, tenant: str, chunks: Sequence[Chunk], reader: frozenset[Principal]
    ) -> bool:
        if self._still is None:
            return True
        readable = await self._still.still(tenant, chunks, reader)
        return all(chunk.id in readable for chunk in chunks)


def _still_quotes(source: Source, may_read: Mapping[str, Chunk]) -> bool:
    """Tell whether a page may be read and still says what was quoted from it."""
    return is_open(source, may_read) and source.quote in may_read[source.chunk_id].text
