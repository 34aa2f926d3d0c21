"""Build views of recorded searches and exchanges within a reader's permissions; check old quotes.

People who take over a question see the search results and the gate's decision. Permissions are
checked again at every view, and so is whether a quoted page still has the quote.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from bot.answering.visibility import Visibility, sources_of
from bot.domain.interactions import Escalation, Interaction, Source
from bot.domain.messages import FoundPassage, InteractionId
from rag.ports import ReadsChunks, SearchIndex
from rag.types import EVERYONE, Chunk, Principal


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


QuoteState = Literal["there", "changed", "restricted", "gone", "unknown"]
"""there: the page contains the quote verbatim. changed: no longer. restricted: no longer readable
by everyone, although everyone saw the answer. gone: the page does not exist. unknown: the viewer
may not read the page of a private answer, so its state is not revealed."""

_EVERYBODY = frozenset({EVERYONE})


@dataclass(frozen=True, slots=True)
class CitedQuote:
    """A quote and its page; ``space`` is "" in old records.

    ``public``: the answer was posted where others read along.
    """

    space: str
    page_id: str
    chunk_id: str
    quote: str
    public: bool


class QuoteCheck:
    """Check quotes, reading each page once; create a new instance for each view.

    Args:
        index: Holds the pages.
        tenant: Owner of the pages.
        reader: The viewer's principals.
    """

    def __init__(self, index: SearchIndex, tenant: str, reader: frozenset[Principal]) -> None:
        self._index = index
        self._tenant = tenant
        self._reader = reader | _EVERYBODY
        self._pages: dict[tuple[str, str, bool], Sequence[Chunk]] = {}
        self._spaces: Sequence[str] | None = None

    async def fates(self, quoted: Collection[CitedQuote]) -> Mapping[CitedQuote, QuoteState]:
        """Return the state of each quote. Raises rag.errors.IndexUnavailable."""
        as_before = await self._as_before({each.chunk_id for each in quoted})
        fates: dict[CitedQuote, QuoteState] = {}
        for each in quoted:
            chunk = as_before.get(each.chunk_id)
            same = chunk is not None and chunk.page_id == each.page_id
            there = chunk is not None and same and each.quote in chunk.text
            fates[each] = "there" if there else await self._fate(each)
        return fates

    async def _as_before(self, chunk_ids: Collection[str]) -> Mapping[str, Chunk]:
        """Return the chunks that everyone may still read, if the index reads by chunk id."""
        if not chunk_ids or not isinstance(self._index, ReadsChunks):
            return {}
        return await self._index.chunks(self._tenant, chunk_ids, _EVERYBODY)

    async def _fate(self, quoted: CitedQuote) -> QuoteState:
        chunks = await self._chunks(quoted)
        if any(quoted.quote in chunk.text for chunk in chunks):
            return "there"
        if chunks:
            return "changed"
        if not await self._is_there(quoted):
            return "gone"
        return "restricted" if quoted.public else "unknown"

    async def _chunks(self, quoted: CitedQuote) -> Sequence[Chunk]:
        readers = _EVERYBODY if quoted.public else self._reader
        return [
            chunk
            for space in await self._spaces_of(quoted)
            for chunk in await self._page(space, quoted.page_id, readers)
        ]

    async def _page(
        self, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        key = (space, page_id, readers == _EVERYBODY)
        if key not in self._pages:
            self._pages[key] = await self._index.page(self._tenant, space, page_id, readers)
        return self._pages[key]

    async def _is_there(self, quoted: CitedQuote) -> bool:
        for space in await self._spaces_of(quoted):
            if await self._index.page_summary(self._tenant, space, quoted.page_id, None):
                return True
        return False

    async def _spaces_of(self, quoted: CitedQuote) -> Sequence[str]:
        if quoted.space:
            return [quoted.space]
        if self._spaces is None:
            self._spaces = list(await self._index.spaces(self._tenant))
        return self._spaces
