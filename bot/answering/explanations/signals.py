"""Display names and formats of the signals of search and answer, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bot.domain.texts import number_text, tr

SignalKind = Literal["share", "number", "count", "yes"]
"""Format of a value: as a percentage, with two decimals, as an integer, or as yes or no."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal's display name and format.

    ``against`` is the clause that describes a poor value, for the middle of a sentence.
    """

    name: str
    kind: SignalKind = "share"
    against: str = ""


_WEAK = tr("the passages only loosely match the question")
_NO_LEAD = tr("no passage stands out from the others")
_RIVALS = tr("other pages match almost as well")
_SECTIONS = tr("another section matches almost as well")
_WORDS = tr("few words of the question are in the passages")
_LINES = tr("no line answers the question directly")
_DROPPED = tr("some statements did not pass the checks")
_WORDING = tr("the answer says more than the lines it cites")

SIGNALS: Mapping[str, Signal] = {
    "score_best": Signal(tr("Score of the best passage"), against=_WEAK),
    "score_gap_2": Signal(tr("Lead of the best passage over the second"), against=_NO_LEAD),
    "score_gap_5": Signal(tr("Lead of the best passage over the fifth"), against=_NO_LEAD),
    "score_mean": Signal(tr("Average score of the five best passages"), against=_WEAK),
    "score_spread": Signal(tr("Spread of the passages' scores"), against=_NO_LEAD),
    "keyword_best": Signal(tr("Same words, best passage"), "number", _WORDS),
    "vector_best": Signal(tr("Same meaning, best passage"), against=_WEAK),
    "vector_mean": Signal(tr("Same meaning, on average"), against=_WEAK),
    "tokens_best": Signal(tr("Word-by-word match, best page"), against=_WEAK),
    "tokens_lead": Signal(tr("Word-by-word match, lead over other pages"), against=_RIVALS),
    "rank_agreement": Signal(
        tr("Found both by words and by meaning"),
        against=tr("searching by words and by meaning led to different passages"),
    ),
    "pages_close": Signal(
        tr("Number of about equally good pages"),
        against=tr("several pages match about equally well"),
    ),
    "best_page_share": Signal(
        tr("Passages from the best page"),
        against=tr("the matching text is spread over several pages"),
    ),
    "coverage_best": Signal(
        tr("Words of the question found in the passage that has most of them"), against=_WORDS
    ),
    "coverage_first": Signal(tr("Words of the question found in the best passage"), against=_WORDS),
    "coverage_top_3": Signal(
        tr("Words of the question found in the three best passages"), against=_WORDS
    ),
    "rarest_uncovered": Signal(tr("Weight of a missing rare word"), against=_WORDS),
    "uncovered_identifiers": Signal(
        tr("Numbers and codes of the question that were not found"), "count"
    ),
    "has_claims": Signal(tr("Something answers the question"), "yes"),
    "supported_share": Signal(tr("Statements that the pages support"), against=_DROPPED),
    "composer_best_quote_score": Signal(tr("Match of the best line"), "number", _LINES),
    "composer_best_quote_coverage": Signal(
        tr("Words of the question found in the best line"), against=_LINES
    ),
    "composer_best_quote_cosine": Signal(tr("Same meaning, best line"), against=_LINES),
    "composer_quotes_coverage": Signal(
        tr("Words of the question found in the best quoted lines"),
        against=tr("the lines found don't cover all words of the question"),
    ),
    "composer_section_coverage": Signal(
        tr("Words of the question found in everything shown"),
        against=tr("what is shown doesn't cover all words of the question"),
    ),
    "composer_section_score": Signal(tr("Match of the best section"), "number", _LINES),
    "composer_section_gap": Signal(
        tr("Lead of the best section over the next"), "number", _SECTIONS
    ),
    "composer_section_lead": Signal(
        tr("Lead of the best section over other pages"), "number", _RIVALS
    ),
    "composer_lead_over_other_pages": Signal(
        tr("Lead of the best line over other pages"), "number", _RIVALS
    ),
    "composer_answer_type_missing": Signal(
        tr("The expected kind of answer is missing"),
        "yes",
        tr("no line has what was asked for, such as a date or an amount"),
    ),
    "composer_defines_term": Signal(tr("The meaning that was asked for is shown"), "yes"),
    "composer_answerable": Signal(
        tr("The model says the pages answer it"),
        "yes",
        tr("the model found no answer in the pages"),
    ),
    "composer_claims_kept_share": Signal(tr("Statements that passed the checks"), against=_DROPPED),
    "composer_lines_found_share": Signal(
        tr("Share of cited lines that exist"), against=tr("the model cited lines that don't exist")
    ),
    "composer_sources_distinct": Signal(tr("Different passages cited"), "count"),
    "composer_pages_distinct": Signal(tr("Different pages cited"), "count"),
    "composer_conflict": Signal(tr("The model says that pages contradict each other"), "yes"),
    "composer_partial": Signal(
        tr("The model says something is missing"),
        "yes",
        tr("the model says that something is missing"),
    ),
    "composer_figures_quoted": Signal(tr("Statements whose numbers are quoted"), against=_WORDING),
    "composer_words_supported": Signal(
        tr("Words of the answer found in its cited lines"), against=_WORDING
    ),
    "composer_wording_literal": Signal(tr("Word pairs found in its cited lines"), against=_WORDING),
    "composer_self_rating": Signal(
        tr("How sure the model says it is"), against=tr("the model is not certain")
    ),
    "careful_rule": Signal(
        tr("The model's confidence, reduced by missing parts and failed checks"),
        against=tr("the model is not certain, says that something is missing, or a check failed"),
    ),
}

PASSAGE_SIGNALS: Mapping[str, str] = {
    "keyword": tr("Same words"),
    "vector": tr("Same meaning"),
    "fused": tr("Together"),
}
"""Display names of a passage's signals, in the order of the table's columns."""

TIMING_NAMES: Mapping[str, str] = {
    "route": tr("Understanding the question"),
    "cache": tr("Looking for a saved answer"),
    "spelling": tr("Checking the spelling"),
    "embed": tr("Preparing the search"),
    "search": tr("Searching"),
    "plan": tr("Searching again in the model's words"),
    "compose": tr("Composing and checking"),
    "features": tr("Estimating confidence"),
    "generate": tr("Writing the reply"),
}

CALL_NAMES: Mapping[str, str] = {
    "understand": tr("Understanding the question"),
    "intent": tr("Determining the kind of question"),  # this and the next: in older records
    "rewrite": tr("Completing a follow-up question"),
    "search_plan": tr("Planning the search"),
    "answer": tr("Composing the answer"),
    "answer_translated": tr("Composing and translating the answer"),
    "generic": tr("Writing the reply"),
}


def signal_of(name: str) -> Signal:
    """Return the signal of a feature; an unlisted one gets a name made from its key."""
    return SIGNALS.get(name) or Signal(name.replace("_", " ").capitalize(), "number")


def format_signal(signal: Signal, value: float) -> str:
    """Return a signal's value as text."""
    match signal.kind:
        case "share":
            return f"{value:.0%}"
        case "number":
            return number_text(f"{value:.2f}")
        case "count":
            return f"{value:.0f}"
        case "yes":
            return tr("yes") if value else tr("no")
