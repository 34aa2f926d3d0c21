"""What was found for a question and why it was not enough, within what a reader may read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain.types import Escalation, FoundPassage, Interaction, InteractionId, Source
from bot.escalations.reading import Sight, sources_of


@dataclass(frozen=True, slots=True)
class Finding:
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


def finding_of(interaction: Interaction, seen: Sight) -> Finding | None:
    """Return what was found, as far as it may be read; None before there is an outcome."""
    outcome = interaction.outcome
    if outcome is None:
        return None
    suggestions = tuple(_shown(sources_of(outcome.response), seen))
    passages = seen.seen(outcome.trace.passages)
    return Finding(
        interaction_id=interaction.id,
        question=seen.question(interaction),
        gate=outcome.trace.gate,
        confidence=outcome.response.confidence,
        threshold=outcome.trace.threshold,
        suggestions=suggestions,
        passages=passages,
        missing=seen.missing(outcome),
        hidden=len(_pages(found_in(interaction)) - _pages(suggestions) - _pages(passages)),
    )


def exchange_of(interaction: Interaction, seen: Sight) -> Exchange:
    """Return an earlier exchange; an answer is shown whole or not at all."""
    answer, withheld = "", False
    if interaction.outcome is not None:
        response = seen.retold(interaction.outcome)
        answer, shown = response.text, seen.shows(response)
        withheld = not shown or seen.repeats(interaction.outcome)
    return Exchange(
        interaction_id=interaction.id,
        question=seen.question(interaction),
        answer="" if withheld else answer,
        asked_at=interaction.created_at,
        withheld=withheld,
    )


def found_in(interaction: Interaction) -> tuple[Source | FoundPassage, ...]:
    """Return every passage that the record of an exchange names."""
    outcome = interaction.outcome
    return () if outcome is None else (*sources_of(outcome.response), *outcome.trace.passages)


def leaned_on(interaction: Interaction) -> tuple[InteractionId, ...]:
    """Return the earlier exchanges that a question took words from, oldest first."""
    outcome = interaction.outcome
    return () if outcome is None else outcome.trace.route.leaned_on


def _pages(found: Iterable[Source | FoundPassage]) -> set[str]:
    return {each.page_id for each in found}


def _has_searched(interaction: Interaction) -> bool:
    return interaction.outcome is not None and bool(interaction.outcome.trace.gate)


def _shown(sources: Sequence[Source], seen: Sight) -> Iterable[Source]:
    """Yield what may be read; a quote only while it is still on the page."""
    for source in seen.seen(sources):
        yield source if seen.quotes(source) else replace(source, quote="")
