"""Build views of recorded searches, exchanges and private answers within a reader's permissions.

People who take over a question see the search results and the gate's decision; an asker sees the
private answer whole or not at all. Permissions are checked again at every view.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.answering.visibility import Visibility, sources_of
from bot.domain.interactions import Escalation, Interaction, Source
from bot.domain.messages import FoundPassage, InteractionId


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
