"""Build views of recorded searches, exchanges and private answers within a reader's permissions.

People who take over a question see the search results and the gate's decision; an asker sees the
private answer whole or not at all. Permissions are checked again at every view.
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
    """The result of the search for a question, and the gate's decision.

    ``question`` is as its asker wrote it: the search query may contain words of other people.

    ``interaction_id`` is the exchange that was searched for: the escalated one, or, if the asker
    only requested a person, the last searched one before. ``gate`` is "stopped", "passed",
    "unsure" (shown as a guess), or "" if nothing was judged. ``missing`` is what the answer reports
    as missing from the pages. ``hidden`` counts the pages left out, because the reader may not read
    them or they have changed since.
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
    """An earlier question of the same asker, and the bot's public reply.

    ``answer`` is empty while there is none, and if it is ``withheld`` because it may quote pages
    that the reader may not read.
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
    """Return an exchange's search result as far as it may be read; None without an outcome."""
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
    """Return the sources and passages in the record of an exchange, without the private reply's."""
    outcome = interaction.outcome
    return () if outcome is None else (*sources_of(outcome.response), *outcome.trace.passages)


def context_exchanges(interaction: Interaction) -> tuple[InteractionId, ...]:
    """Return the ids of the earlier exchanges that a question used words of, oldest first."""
    outcome = interaction.outcome
    return () if outcome is None else outcome.trace.route.leaned_on


def _page_ids(found: Iterable[Source | FoundPassage]) -> set[str]:
    return {each.page_id for each in found}


def _has_searched(interaction: Interaction) -> bool:
    return interaction.outcome is not None and bool(interaction.outcome.trace.gate)


def _readable_sources(sources: Sequence[Source], seen: Visibility) -> Iterable[Source]:
    """Yield the readable sources, with the quote removed if it is no longer on the page."""
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
    """A reply for the asker alone; if it is None, ``why_not`` is the reason shown to them."""

    reply: Reply | None
    why_not: str = ""


class PrivateAnswers:
    """Return the recorded private reply of an asker, whole or not at all.

    With ``public_url``, links to this server's own pages are absolute. ``still`` rechecks the
    permissions of the pages at their source.
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
        """Return the private reply to a question for its asker, with the permissions of ``reader``.

        The caller must have checked that the request comes from the asker.
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
    """Return whether a source may be read and its passage still contains the quote."""
    return is_open(source, may_read) and source.quote in may_read[source.chunk_id].text
