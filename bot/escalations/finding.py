"""What was found for a question and why it was not enough, within what a reader may read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.types import (
    Clarification,
    Escalation,
    FoundPassage,
    Interaction,
    InteractionId,
    Outcome,
    Reply,
    Source,
)
from rag.types import Chunk


@dataclass(frozen=True, slots=True)
class Finding:
    """What the search for ``question`` gave, and what the gate made of it.

    ``question`` is as its asker wrote it: what was searched for may have others' words in it.

    ``interaction_id`` is the exchange that was searched for: the escalated one, or, when somebody
    only asked for a person, the one before it. ``gate`` is "stopped", "passed", or "" where there
    was nothing to judge. ``hidden`` counts the pages that are left out: the reader may not read
    them, or they have changed since.
    """

    interaction_id: InteractionId
    question: str
    gate: str
    confidence: float | None
    threshold: float | None
    suggestions: tuple[Source, ...] = ()
    passages: tuple[FoundPassage, ...] = ()
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier question of the same asker, and what the bot said to everyone in its thread.

    ``answer`` is empty while there is none, and where ``withheld``: it quotes what the reader may
    not read.
    """

    interaction_id: InteractionId
    question: str
    answer: str
    asked_at: datetime
    withheld: bool = False


def searched(escalated: Interaction, before: Sequence[Interaction]) -> Interaction:
    """Return the exchange whose search explains an escalation; ``before`` is oldest first."""
    response = escalated.outcome.response if escalated.outcome else None
    if isinstance(response, Escalation) and response.reason == "asked_for_human":
        return next((each for each in reversed(before) if _has_searched(each)), escalated)
    return escalated


def finding_of(interaction: Interaction, may_read: Mapping[str, Chunk]) -> Finding | None:
    """Return what was found, as far as it may be read; None before there is an outcome."""
    outcome = interaction.outcome
    if outcome is None:
        return None
    suggestions = tuple(_shown(sources_of(outcome), may_read))
    passages = tuple(each for each in outcome.trace.passages if is_open(each, may_read))
    return Finding(
        interaction_id=interaction.id,
        question=interaction.message.text,
        gate=outcome.trace.gate,
        confidence=outcome.response.confidence,
        threshold=outcome.trace.threshold,
        suggestions=suggestions,
        passages=passages,
        hidden=len(_pages(found_in(interaction)) - _pages(suggestions) - _pages(passages)),
    )


def exchange_of(interaction: Interaction, may_read: Mapping[str, Chunk]) -> Exchange:
    """Return an earlier exchange; an answer is shown whole or not at all."""
    answer, withheld = "", False
    if interaction.outcome is not None:
        answer = interaction.outcome.response.text
        withheld = not _may_be_shown(interaction.outcome, may_read)
    return Exchange(
        interaction_id=interaction.id,
        question=interaction.message.text,
        answer="" if withheld else answer,
        asked_at=interaction.created_at,
        withheld=withheld,
    )


def exchanges_of(
    before: Sequence[Interaction], may_read: Mapping[str, Chunk]
) -> tuple[Exchange, ...]:
    """Return earlier exchanges, oldest first; what may repeat a withheld answer is withheld too."""
    shown: list[Exchange] = []
    for each in before:
        exchange = exchange_of(each, may_read)
        if leans_on_talk(each) and any(earlier.withheld for earlier in shown):
            exchange = replace(exchange, answer="", withheld=True)
        shown.append(exchange)
    return tuple(shown)


def leans_on_talk(interaction: Interaction) -> bool:
    """Tell whether a model wrote a reply that names no page, knowing what was said before it."""
    outcome = interaction.outcome
    if outcome is None or not isinstance(outcome.response, Reply):
        return False
    return not outcome.response.sources and bool(outcome.trace.calls)


def found_in(interaction: Interaction) -> tuple[Source | FoundPassage, ...]:
    """Return every passage that the record of an exchange names."""
    outcome = interaction.outcome
    return () if outcome is None else (*sources_of(outcome), *outcome.trace.passages)


def leaned_on(interaction: Interaction) -> tuple[InteractionId, ...]:
    """Return the earlier exchanges that a question took words from, oldest first."""
    outcome = interaction.outcome
    return () if outcome is None else outcome.trace.route.leaned_on


def sources_of(outcome: Outcome) -> tuple[Source, ...]:
    """Return the pages that everybody in the thread was shown."""
    match outcome.response:
        case Reply(sources=sources):
            return sources
        case Clarification(suggestions=sources) | Escalation(suggestions=sources):
            return sources


def _pages(found: Iterable[Source | FoundPassage]) -> set[str]:
    return {each.page_id for each in found}


def _has_searched(interaction: Interaction) -> bool:
    return interaction.outcome is not None and bool(interaction.outcome.trace.gate)


def _may_be_shown(outcome: Outcome, may_read: Mapping[str, Chunk]) -> bool:
    """Tell whether a reader may read all that an answer quotes; other texts quote nothing."""
    if not isinstance(outcome.response, Reply):
        return True
    return all(
        is_open(each, may_read) and each.quote in may_read[each.chunk_id].text
        for each in outcome.response.sources
    )


def _shown(sources: Iterable[Source], may_read: Mapping[str, Chunk]) -> Iterable[Source]:
    """Yield what may be read; a quote only while it is still on the page."""
    for source in sources:
        if is_open(source, may_read):
            there = source.quote in may_read[source.chunk_id].text
            yield source if there else replace(source, quote="")


def is_open(found: Source | FoundPassage, may_read: Mapping[str, Chunk]) -> bool:
    """Tell whether a passage may be read; an id may have gone to another page's text since."""
    chunk = may_read.get(found.chunk_id)
    return (
        chunk is not None
        and (chunk.page_id, chunk.title) == (found.page_id, found.title)
        and chunk.section == found.section
    )
