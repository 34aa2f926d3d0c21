"""Decide, by querying the index, which recorded questions and answers a reader may still see.

The one rule for cards, the board, the asker's own history, "why", the API and the history in
prompts. It is evaluated at each use, because a page may have been restricted since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol, TypeVar

import structlog

from bot.answering.asker_identity import Reader
from bot.answering.grounded_answer import CORRECTED, READ_AS
from bot.answering.reply_text import without_missing
from bot.domain.formatting import option_label
from bot.domain.interactions import (
    Clarification,
    Escalation,
    Interaction,
    Outcome,
    Reply,
    Response,
    Source,
    Trace,
)
from bot.domain.messages import FoundPassage, Message, chosen_section, is_chosen_option
from bot.domain.texts import tr
from rag.errors import RagError
from rag.ports import ReadsChunks, SearchIndex
from rag.types import EVERYONE, Chunk, Principal

PAGE_CLOSED = tr("You no longer have access to the page behind this, or it is gone.")
"""Replaces an answer based on a page that its reader may not read now."""

ACCESS_NOT_KNOWN = tr(
    "I can't check right now whether you have access to the page behind this, so it is not shown."
)
"""Replaces such an answer while the index is unavailable."""

log = structlog.get_logger(__name__)

RecordedPassage = Source | FoundPassage

Found = TypeVar("Found", Source, FoundPassage)

_PageAndChunk = tuple[str, str]
"""A page id and a chunk id."""


class ReadablePassages(Protocol):
    """Port: look up which passages may be read. Raises rag.errors.IndexUnavailable."""

    async def readable(
        self, tenant: str, found: Sequence[RecordedPassage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return the current chunks, by id, of passages that still exist and may be read."""
        ...


class ReadableInIndex:
    """Look up readable passages in an index. Implements ``ReadablePassages``.

    Chunk ids are unique. An index without ``ReadsChunks`` is queried for the pages in every space,
    because the record does not store a passage's space. A chunk that the index does not return may
    not be read.
    """

    def __init__(self, index: SearchIndex) -> None:
        self._index = index

    async def readable(
        self, tenant: str, found: Sequence[RecordedPassage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        if not found:
            return {}
        readers |= {EVERYONE}
        wanted = {(each.page_id, each.chunk_id) for each in found}
        if isinstance(self._index, ReadsChunks):
            ids = {each.chunk_id for each in found}
            return _wanted_chunks(wanted, (await self._index.chunks(tenant, ids, readers)).values())
        return await self._by_page(tenant, wanted, readers)

    async def _by_page(
        self, tenant: str, wanted: set[_PageAndChunk], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        open_: dict[str, Chunk] = {}
        spaces = list(await self._index.spaces(tenant))
        for page_id in sorted({page_id for page_id, _ in wanted}):
            for space in spaces:
                chunks = await self._index.page(tenant, space, page_id, readers)
                open_.update(_wanted_chunks(wanted, chunks))
        return open_


def _wanted_chunks(wanted: set[_PageAndChunk], chunks: Iterable[Chunk]) -> dict[str, Chunk]:
    return {chunk.id: chunk for chunk in chunks if (chunk.page_id, chunk.id) in wanted}


@dataclass(frozen=True, slots=True)
class Visibility:
    """The chunks that a reader may read, by id; ``blind`` if the index was unavailable."""

    passages: Mapping[str, Chunk] = field(default_factory=dict)
    blind: bool = False

    def seen(self, found: Iterable[Found]) -> tuple[Found, ...]:
        """Return the passages that ``is_open`` accepts."""
        return tuple(each for each in found if is_open(each, self.passages))

    def hidden(self, found: Sequence[Found]) -> int:
        """Return the number of the other passages."""
        return len(found) - len(self.seen(found))

    def shows(self, response: Response) -> bool:
        """Return whether a response's text may be shown to a reader who did not receive it.

        An answer quotes its sources and a clarification may name them; the text of an escalation
        is fixed, so it may always be shown.
        """
        return all(
            is_open(each, self.passages) and self.quotes(each) for each in quoted_sources(response)
        )

    def retold(self, outcome: Outcome) -> Response:
        """Return a response as it may be shown to a reader who did not receive it.

        The ``missing`` part is removed unless all passages that the model read may be read: it may
        name passages that were not cited.
        """
        response = outcome.response
        if isinstance(response, Reply) and not self._may_read(outcome.trace.passages):
            return without_missing(response)
        return response

    def missing(self, outcome: Outcome) -> str:
        """Return the ``missing`` part of an answer; "" if there is none or it may not be shown."""
        response = self.retold(outcome)
        if not isinstance(response, Reply) or not self.shows(response):
            return ""
        return response.missing or ""

    def offers(self, options: Iterable[str]) -> tuple[str, ...]:
        """Return the options that name a readable passage; not every option is cited."""
        named = frozenset(map(option_label, self.passages.values()))
        return tuple(option for option in options if option in named)

    def quotes(self, source: Source) -> bool:
        """Return whether the quote is still in the passage, and the passage may be read."""
        chunk = self.passages.get(source.chunk_id)
        return chunk is not None and source.quote in chunk.text

    def keeps(self, found: Iterable[Found]) -> tuple[Found, ...]:
        """Return the passages that may be read now, whatever their current text."""
        return tuple(each for each in found if self._may_read([each]))

    def tells(self, interaction: Interaction) -> bool:
        """Return whether an exchange may be shown again to its reader, or put into a prompt.

        Pages that were only edited since don't prevent it: they were readable then and are now. A
        model's reply whose pages were not recorded is not shown again.
        """
        outcome = interaction.outcome
        if outcome is None:
            return True
        heard = _history_passages(outcome)
        return (
            heard is not None
            and self._may_read(heard)
            and self._may_read(quoted_sources(outcome.response))
            and self._may_read_options(outcome)
        )

    def repeats(self, outcome: Outcome) -> bool:
        """Return whether a model's reply may repeat passages that a new reader may not see."""
        heard = _history_passages(outcome)
        return heard is None or not all(is_open(each, self.passages) for each in heard)

    def asked(self, interaction: Interaction) -> str | None:
        """Return a question's text; None if it is an option that names a closed page.

        A chosen option becomes a question, in the words of the page, not of the asker. One whose
        page is not in the record, because it was closed before the answer, names a closed page.
        """
        offered = offered_passages(interaction)
        vouched = bool(offered) or not is_chosen_option(interaction.message)
        return interaction.message.asked if vouched and self._may_read(offered) else None

    def question(self, interaction: Interaction) -> str:
        """Return a question's text, or the notice that replaces a closed page's words."""
        asked = self.asked(interaction)
        return self.why_closed if asked is None else asked

    def searched_for(self, interaction: Interaction) -> str:
        """Return the search query; the question if the query may have a closed page's words."""
        asked, outcome = self.asked(interaction), interaction.outcome
        if asked is None or outcome is None or not self._may_read_query(outcome.trace):
            return asked or ""
        return outcome.trace.route.question

    def remarks(self, interaction: Interaction) -> tuple[str, ...]:
        """Return the remarks, without how the question was read if its query may not be shown."""
        outcome = interaction.outcome
        if outcome is None:
            return ()
        if self.asked(interaction) is not None and self._may_read_query(outcome.trace):
            return outcome.remarks
        reading, _, _ = READ_AS.partition("{")
        return tuple(each for each in outcome.remarks if not each.startswith(reading))

    def _may_read_options(self, outcome: Outcome) -> bool:
        """Return whether all pages may be read that options name: not each is a suggestion, too.

        The trace has the passage of every option that names a page.
        """
        options = outcome.response.options if isinstance(outcome.response, Clarification) else ()
        named = [each for each in outcome.trace.passages if option_label(each) in options]
        return self._may_read(named)

    def _may_read_query(self, trace: Trace) -> bool:
        """Return whether all pages may be read that the query may have words of.

        They are those behind the earlier turns, and where the spelling was corrected, what was
        found by it; nothing vouches for a corrected word that found no passage.
        """
        if trace.heard is None or not self._may_read(trace.heard):
            return False
        return CORRECTED not in trace.notes or (
            bool(trace.passages) and self._may_read(trace.passages)
        )

    def explained(self, interaction: Interaction, outcome: Outcome) -> Outcome:
        """Return an outcome with its queries, passages and ``missing`` part as far as readable."""
        trace, question = outcome.trace, self.searched_for(interaction)
        # A model takes the words of its searches from the question and from pages that it has read.
        open_ = bool(question) and self._may_read(trace.passages)
        # A translation of words that are hidden says the same as they do.
        query = trace.route.search_query if question == trace.route.question else ""
        trace = replace(
            trace,
            route=replace(trace.route, question=question, search_query=query),
            passages=self.keeps(trace.passages),
            searches=trace.searches if open_ else (),
        )
        return replace(outcome, response=self._of_open_pages(outcome.response), trace=trace)

    def _of_open_pages(self, response: Response) -> Response:
        """Remove what may name a closed page's content beside the text, if one is cited."""
        if isinstance(response, Reply) and not self._may_read(quoted_sources(response)):
            return replace(response, missing=None, translation=None)
        return response

    @property
    def why_closed(self) -> str:
        """Return the notice that replaces an answer which may not be shown."""
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
    """Return the visibility of the passages of some exchanges; ``blind`` without the index.

    The index is queried once for all of them, and not at all if they name no page.
    """
    named = chain.from_iterable(map(recorded_passages, interactions))
    return await visibility_of(readable, tenant, named, reader)


async def visibility_of(
    readable: ReadablePassages, tenant: str, named: Iterable[RecordedPassage], reader: Reader
) -> Visibility:
    """Return the visibility of some passages; ``blind`` if the index is unavailable."""
    wanted = list(named)
    if not wanted:
        return Visibility()
    try:
        return Visibility(reader.among(await readable.readable(tenant, wanted, reader.principals)))
    except RagError as error:
        log.warning("sight.index_unavailable", why=str(error))
        return Visibility(blind=True)


def is_open(found: RecordedPassage, may_read: Mapping[str, Chunk]) -> bool:
    """Return whether a passage may be read and its id still names the same page and section."""
    chunk = may_read.get(found.chunk_id)
    return (
        chunk is not None
        and (chunk.page_id, chunk.title) == (found.page_id, found.title)
        and chunk.section == found.section
    )


def is_unsourced_model_reply(outcome: Outcome) -> bool:
    """Return whether a model wrote the reply from the earlier turns, without any source."""
    response = outcome.response
    if not isinstance(response, Reply):
        return False
    return not response.sources and bool(outcome.trace.calls)


def _history_passages(outcome: Outcome) -> tuple[FoundPassage, ...] | None:
    """Return the passages behind the turns that a reply is based on; None if not recorded."""
    return outcome.trace.heard if is_unsourced_model_reply(outcome) else ()


def passages_behind(interaction: Interaction) -> tuple[RecordedPassage, ...]:
    """Return the passages that an exchange's texts are based on, through earlier turns too."""
    outcome = interaction.outcome
    if outcome is None:
        return ()
    return (
        *quoted_sources(outcome.response),
        *(_history_passages(outcome) or ()),
        *offered_passages(interaction),
    )


def quoted_sources(response: Response) -> tuple[Source, ...]:
    """Return the sources that a response's text may quote or name."""
    return () if isinstance(response, Escalation) else sources_of(response)


def sources_of(response: Response) -> tuple[Source, ...]:
    """Return the sources that a response cites or suggests."""
    return response.sources if isinstance(response, Reply) else response.suggestions


def offered_passages(interaction: Interaction) -> tuple[FoundPassage, ...]:
    """Return the passages whose option label ("Title: Section") is the question.

    They are those that were found for it, and those that were offered by that name before.
    """
    outcome = interaction.outcome
    found = () if outcome is None else (*outcome.trace.passages, *(outcome.trace.heard or ()))
    return named_passages(interaction.message.text, found)


def named_passages(text: str, found: Iterable[FoundPassage]) -> tuple[FoundPassage, ...]:
    """Return the passages whose option label ("Title: Section") is a text."""
    return tuple(each for each in found if option_label(each) == text)


def offered_before(exchanges: Iterable[Interaction], message: Message) -> Iterator[FoundPassage]:
    """Yield the passages that earlier exchanges offered as the option that a message repeats.

    Of a section that was chosen beside an answer it is the section's passage.
    """
    for each in exchanges:
        if each.outcome is None:
            continue
        response = each.outcome.response
        if isinstance(response, Clarification) and message.text in response.options:
            yield from named_passages(message.text, each.outcome.trace.passages)
        yield from _section_beside(response, message)


def _section_beside(response: Response, message: Message) -> Iterator[FoundPassage]:
    chunk_id = chosen_section(message)
    if chunk_id is None or not isinstance(response, Reply):
        return
    for page_id, title in {(each.page_id, each.title): None for each in response.sources}:
        if message.text.startswith(f"{title}: "):
            section = message.text.removeprefix(f"{title}: ")
            yield FoundPassage(chunk_id, page_id, title, section, {})


def may_name_page(interaction: Interaction) -> bool:
    """Return whether a question is an option, so that its words may be a page's."""
    return is_chosen_option(interaction.message) or bool(offered_passages(interaction))


def recorded_passages(interaction: Interaction) -> Iterable[RecordedPassage]:
    """Yield every passage in the record of an exchange, the private reply's too."""
    outcome = interaction.outcome
    if outcome is None:
        return
    yield from sources_of(outcome.response)
    yield from outcome.trace.passages
    yield from outcome.trace.heard or ()
    if outcome.private is not None:
        yield from outcome.private.sources
