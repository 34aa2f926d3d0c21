"""Decide what a reader may still see of recorded questions and answers, by asking the index.

The one rule for cards, the board, own history, "why", the API, and the history that prompts are
given. It is asked at each use: what was readable once may be closed by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol, TypeVar

import structlog

from bot.answering.asker_identity import Reader
from bot.answering.clarification import option_label
from bot.answering.reply_text import without_missing
from bot.domain.interactions import Escalation, Interaction, Outcome, Reply, Response, Source
from bot.domain.messages import FoundPassage
from rag.errors import RagError
from rag.ports import ReadsChunks
from rag.types import EVERYONE, Chunk, Principal

PAGE_CLOSED = "The page behind this is no longer open to you, or is gone, so it is not shown."
"""Stands in place of an answer that rests on a page that its reader may not read now."""

ACCESS_NOT_KNOWN = (
    "I can't tell just now whether the page behind this is open to you, so I don't show it."
)

log = structlog.get_logger(__name__)

RecordedPassage = Source | FoundPassage

Found = TypeVar("Found", Source, FoundPassage)

_PageAndChunk = tuple[str, str]
"""Page and chunk."""


class PassageOnPage(Protocol):
    """A passage that was found, as the record names it."""

    @property
    def chunk_id(self) -> str: ...

    @property
    def page_id(self) -> str: ...


class ReadablePassages(Protocol):
    """Tells what may be read. Raises rag.errors.IndexUnavailable."""

    async def readable(
        self, tenant: str, found: Sequence[PassageOnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return by id the passages that are still there and may be read, as they are now."""
        ...


class IndexPages(Protocol):
    """What is asked of an index; either answer is bounded by the tenant."""

    async def spaces(self, tenant: str) -> Mapping[str, int]: ...

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        """Return a page's chunks; empty when there is none or it may not be read."""
        ...


class ReadableInIndex:
    """Implements ReadablePassages over an index.

    An id of a passage is unique. An index that can't be asked for passages is asked for their
    pages, in every space: the record does not name a passage's. What the index does not hand out
    may not be read.
    """

    def __init__(self, pages: IndexPages) -> None:
        self._pages = pages

    async def readable(
        self, tenant: str, found: Sequence[PassageOnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        if not found:
            return {}
        readers |= {EVERYONE}
        wanted = {(each.page_id, each.chunk_id) for each in found}
        if isinstance(self._pages, ReadsChunks):
            ids = {each.chunk_id for each in found}
            return _wanted_chunks(wanted, (await self._pages.chunks(tenant, ids, readers)).values())
        return await self._by_page(tenant, wanted, readers)

    async def _by_page(
        self, tenant: str, wanted: set[_PageAndChunk], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        open_: dict[str, Chunk] = {}
        spaces = list(await self._pages.spaces(tenant))
        for page_id in sorted({page_id for page_id, _ in wanted}):
            for space in spaces:
                chunks = await self._pages.page(tenant, space, page_id, readers)
                open_.update(_wanted_chunks(wanted, chunks))
        return open_


def _wanted_chunks(wanted: set[_PageAndChunk], chunks: Iterable[Chunk]) -> dict[str, Chunk]:
    return {chunk.id: chunk for chunk in chunks if (chunk.page_id, chunk.id) in wanted}


@dataclass(frozen=True, slots=True)
class Visibility:
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
        """Tell whether the words of a response may be seen by somebody who was not told them.

        An answer quotes its sources and a question back may name them; what is said when a
        question is handed over is always the same.
        """
        return all(
            is_open(each, self.passages) and self.quotes(each) for each in quoted_sources(response)
        )

    def retold(self, outcome: Outcome) -> Response:
        """Return a response as it may be told to somebody who was not told it.

        What it lacks is left out where not all is open that was read: a model may name what it
        read and did not cite.
        """
        response = outcome.response
        if isinstance(response, Reply) and not self._may_read(outcome.trace.passages):
            return without_missing(response)
        return response

    def missing(self, outcome: Outcome) -> str:
        """Return what an answer says that the pages lack, wherever its words may be seen."""
        response = self.retold(outcome)
        if not isinstance(response, Reply) or not self.shows(response):
            return ""
        return response.missing or ""

    def offers(self, options: Iterable[str]) -> tuple[str, ...]:
        """Return what was offered that names a passage that may be read: more is than cited."""
        named = frozenset(map(option_label, self.passages.values()))
        return tuple(option for option in options if option in named)

    def quotes(self, source: Source) -> bool:
        """Tell whether the words that were quoted are still on the page that may be read."""
        chunk = self.passages.get(source.chunk_id)
        return chunk is not None and source.quote in chunk.text

    def keeps(self, found: Iterable[Found]) -> tuple[Found, ...]:
        """Return those whose page may be read now, whatever it says by now."""
        return tuple(each for each in found if self._may_read([each]))

    def tells(self, interaction: Interaction) -> bool:
        """Tell whether who was told what became of a question may be told it again, as may a model.

        Of a page that was only edited they may: they could read it then, and can now. What a model
        wrote, nobody knows from which pages, is not told again.
        """
        outcome = interaction.outcome
        if outcome is None:
            return True
        heard = _history_passages(outcome)
        return (
            heard is not None
            and self._may_read(heard)
            and self._may_read(quoted_sources(outcome.response))
        )

    def repeats(self, outcome: Outcome) -> bool:
        """Tell whether a model's reply may repeat what somebody who was not told may not see."""
        heard = _history_passages(outcome)
        return heard is None or not all(is_open(each, self.passages) for each in heard)

    def asked(self, interaction: Interaction) -> str | None:
        """Return the words of a question; None where they name an offered page that is closed.

        An option that is chosen becomes a question, and is the page's words, not the asker's.
        """
        return interaction.message.text if self._may_read(offered_passages(interaction)) else None

    def question(self, interaction: Interaction) -> str:
        """Return the words of a question, or what is shown in place of a closed page's."""
        asked = self.asked(interaction)
        return self.why_closed if asked is None else asked

    def searched_for(self, interaction: Interaction) -> str:
        """Return what was searched for; as it was asked where it may have a closed page's words."""
        asked, outcome = self.asked(interaction), interaction.outcome
        heard = None if outcome is None else outcome.trace.heard
        if asked is None or outcome is None or heard is None or not self._may_read(heard):
            return asked or ""
        return outcome.trace.route.question

    def explained(self, interaction: Interaction, outcome: Outcome) -> Outcome:
        """Return an outcome with what was searched for and read as far as it may be seen."""
        trace = outcome.trace
        route = replace(trace.route, question=self.searched_for(interaction))
        trace = replace(trace, route=route, passages=self.keeps(trace.passages))
        return replace(outcome, response=self._of_open_pages(outcome.response), trace=trace)

    def _of_open_pages(self, response: Response) -> Response:
        """Return an answer without what it lacks, which may name what a closed page says."""
        if isinstance(response, Reply) and not self._may_read(quoted_sources(response)):
            return replace(response, missing=None)
        return response

    @property
    def why_closed(self) -> str:
        """Return what is shown in place of an answer that may not be told again."""
        return ACCESS_NOT_KNOWN if self.blind else PAGE_CLOSED

    def _may_read(self, found: Iterable[RecordedPassage]) -> bool:
        there = ((self.passages.get(each.chunk_id), each.page_id) for each in found)
        return all(chunk is not None and chunk.page_id == page_id for chunk, page_id in there)


async def visibility_in(
    readable: ReadablePassages,
    tenant: str,
    interactions: Iterable[Interaction],
    reader: Reader,
) -> Visibility:
    """Return what of some exchanges may be seen; nothing while the index is away.

    The index is asked once for all of them, and not at all where they name no page.
    """
    named = chain.from_iterable(map(recorded_passages, interactions))
    return await visibility_of(readable, tenant, named, reader)


async def visibility_of(
    readable: ReadablePassages, tenant: str, named: Iterable[RecordedPassage], reader: Reader
) -> Visibility:
    """Return which of some passages may be seen; none while the index is away."""
    wanted = list(named)
    if not wanted:
        return Visibility()
    try:
        return Visibility(reader.among(await readable.readable(tenant, wanted, reader.principals)))
    except RagError as error:
        log.warning("sight.index_unavailable", why=str(error))
        return Visibility(blind=True)


def is_open(found: RecordedPassage, may_read: Mapping[str, Chunk]) -> bool:
    """Tell whether a passage may be read; an id may have gone to another page's text since."""
    chunk = may_read.get(found.chunk_id)
    return (
        chunk is not None
        and (chunk.page_id, chunk.title) == (found.page_id, found.title)
        and chunk.section == found.section
    )


def is_unsourced_model_reply(outcome: Outcome) -> bool:
    """Tell whether a model wrote a reply that names no page, knowing what was said before it."""
    response = outcome.response
    if not isinstance(response, Reply):
        return False
    return not response.sources and bool(outcome.trace.calls)


def _history_passages(outcome: Outcome) -> tuple[FoundPassage, ...] | None:
    """Return the passages behind the talk that a reply comes from; None where nobody knows."""
    return outcome.trace.heard if is_unsourced_model_reply(outcome) else ()


def passages_behind(interaction: Interaction) -> tuple[RecordedPassage, ...]:
    """Return the passages that what was said in an exchange comes from, earlier talk's too."""
    outcome = interaction.outcome
    if outcome is None:
        return ()
    return (
        *quoted_sources(outcome.response),
        *(_history_passages(outcome) or ()),
        *offered_passages(interaction),
    )


def quoted_sources(response: Response) -> tuple[Source, ...]:
    """Return the pages whose words or names a response's text may hold."""
    return () if isinstance(response, Escalation) else sources_of(response)


def sources_of(response: Response) -> tuple[Source, ...]:
    """Return the pages that a response cites or offers."""
    return response.sources if isinstance(response, Reply) else response.suggestions


def offered_passages(interaction: Interaction) -> tuple[FoundPassage, ...]:
    """Return the passages that a question names as they are offered: "Title: Section"."""
    outcome = interaction.outcome
    found = () if outcome is None else outcome.trace.passages
    return tuple(each for each in found if option_label(each) == interaction.message.text)


def recorded_passages(interaction: Interaction) -> Iterable[RecordedPassage]:
    """Yield every passage that the record of an exchange names."""
    outcome = interaction.outcome
    if outcome is None:
        return
    yield from sources_of(outcome.response)
    yield from outcome.trace.passages
    yield from outcome.trace.heard or ()
    if outcome.private is not None:
        yield from outcome.private.sources
