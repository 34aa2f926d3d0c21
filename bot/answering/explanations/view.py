"""Build the full explanation of an outcome: steps in words, passages, signals and timings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bot.answering.explanations.notes import note_text
from bot.answering.explanations.signals import (
    CALL_NAMES,
    PASSAGE_SIGNALS,
    TIMING_NAMES,
    format_signal,
    signal_of,
)
from bot.answering.explanations.steps import (
    NO_FILTERS,
    StatedConfidence,
    Step,
    stated_confidence,
    steps_of,
)
from bot.answering.gate import FeatureWeight, Gate
from bot.answering.gate_file import CAREFUL
from bot.domain.interactions import Outcome, Trace
from bot.domain.messages import FoundPassage, Intent, SearchFilters
from bot.domain.texts import changed, join_texts, number_text, tr, trn
from rag.search_scope import PlannedSearch
from rag.types import ModelCall

_DECIDERS = {
    "rule": tr("fixed rule"),
    "classifier": tr("local classifier"),
    "model": tr("language model"),
    "default": tr("default"),
}
_INTENTS = {
    Intent.GENERIC: tr("small talk or general knowledge"),
    Intent.DOMAIN: tr("about the company"),
    Intent.UNKNOWN: tr("unclear"),
    Intent.HUMAN: tr("wants a person"),
}
_NEGLIGIBLE, _STRONG = 0.05, 0.25
"""Bounds on the effect of a signal, in log-odds."""

_MICRO = 1_000_000
_SECOND = 1000.0


@dataclass(frozen=True, slots=True)
class FigureCell:
    """A value as text and the length of its bar (0..100), None if it was not measured."""

    figure: str
    bar: int | None


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage with its signals in the order of the table's columns."""

    title: str
    section: str
    cells: tuple[FigureCell, ...]


@dataclass(frozen=True, slots=True)
class WeightRow:
    """A signal and its effect in words; ``side`` is "for", "against" or "neither"."""

    name: str
    cell: FigureCell
    did: str
    side: str


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Rows of a name and a value under one heading."""

    name: str
    rows: tuple[tuple[str, str], ...]


def passage_rows(
    passages: Sequence[FoundPassage], *, scored: bool = True
) -> tuple[PassageRow, ...]:
    """Return the passages in rank order; bars are relative to the greatest value of a column.

    Without ``scored`` the rows have no cells.
    """
    most = {
        name: max((each.signals.get(name, 0.0) for each in passages), default=0.0)
        for name in PASSAGE_SIGNALS
    }
    return tuple(
        PassageRow(
            each.title,
            each.section if each.section != each.title else "",
            tuple(_cell(each.signals.get(name), most[name]) for name in PASSAGE_SIGNALS if scored),
        )
        for each in passages
    )


def _cell(value: float | None, most: float) -> FigureCell:
    if value is None:
        return FigureCell("", None)
    share = value / most if most > 0 else 0.0
    return FigureCell(number_text(f"{value:.2f}"), round(100 * min(1.0, max(0.0, share))))


def weight_rows(
    weights: Sequence[FeatureWeight], features: Mapping[str, float]
) -> tuple[WeightRow, ...]:
    """Return the weighed signals, strongest effect first."""
    return tuple(
        _weight_row(each, features[each.name])
        for each in sorted(weights, key=lambda each: -abs(each.push))
    )


def _weight_row(weight: FeatureWeight, value: float) -> WeightRow:
    signal = signal_of(weight.name)
    return WeightRow(
        name=signal.name,
        cell=FigureCell(format_signal(signal, value), round(100 * weight.place)),
        did=_effect_in_words(weight.push),
        side=_side(weight.push),
    )


def _effect_in_words(push: float) -> str:
    if abs(push) < _NEGLIGIBLE:
        return tr("hardly matters")
    if abs(push) >= _STRONG:
        return tr("clearly for") if push > 0 else tr("clearly against")
    return tr("for") if push > 0 else tr("against")


def _side(push: float) -> str:
    if abs(push) < _NEGLIGIBLE:
        return "neither"
    return "for" if push > 0 else "against"


def figure_groups(trace: Trace, weighed: AbstractSet[str]) -> tuple[FigureGroup, ...]:
    """Return the route, a model's searches, other signals, timings, calls and notes as groups.

    Signals in ``weighed``, which have a table of their own, and empty groups are left out.
    """
    every = (
        FigureGroup(tr("Kind of question"), tuple(_route_rows(trace))),
        FigureGroup(tr("Model searches"), tuple(map(_search_row, trace.searches))),
        FigureGroup(tr("Other signals"), tuple(_signal_rows(trace.features, weighed))),
        FigureGroup(tr("Time"), tuple(_timing_rows(trace.timings_ms))),
        FigureGroup(tr("Language model"), tuple(_call_rows(trace.calls))),
        FigureGroup(
            tr("Remarks"), tuple(("", changed(note_text(note), _sentence)) for note in trace.notes)
        ),
    )
    return tuple(group for group in every if group.rows)


def _route_rows(trace: Trace) -> list[tuple[str, str]]:
    route = trace.route
    return [
        (tr("Interpreted as"), _INTENTS[route.intent]),
        (
            tr("Decided by"),
            tr(
                "{decider}, {share} sure",
                decider=_DECIDERS[route.decided_by],
                share=f"{route.score:.0%}",
            ),
        ),
    ]


def _search_row(search: PlannedSearch) -> tuple[str, str]:
    limits = (
        tr("in {spaces}", spaces=search.space) if search.space else "",
        tr("with label {label}", label=search.label) if search.label else "",
        tr("changed since {date}", date=str(search.changed_since)) if search.changed_since else "",
        trn("{n} section", "{n} sections", search.found),
    )
    return search.query, join_texts(", ", filter(None, limits))


def _signal_rows(features: Mapping[str, float], weighed: AbstractSet[str]) -> list[tuple[str, str]]:
    others = {name: value for name, value in features.items() if name not in weighed}
    named = [(signal_of(name), value) for name, value in others.items()]
    return sorted((signal.name, format_signal(signal, value)) for signal, value in named)


def _timing_rows(timings: Mapping[str, float]) -> list[tuple[str, str]]:
    rows = [(TIMING_NAMES.get(name, name), _duration(value)) for name, value in timings.items()]
    return [*rows, (tr("Total"), _duration(sum(timings.values())))] if len(rows) > 1 else rows


def _duration(milliseconds: float) -> str:
    if milliseconds < _SECOND:
        return f"{milliseconds:.0f} ms" if milliseconds >= 1 else "< 1 ms"
    return number_text(f"{milliseconds / _SECOND:.1f} s")


def _call_rows(calls: Sequence[ModelCall]) -> list[tuple[str, str]]:
    if not calls:
        return [(tr("Calls"), tr("none, so no cost"))]
    rows = [(CALL_NAMES.get(call.purpose, call.purpose), _call(call)) for call in calls]
    return [*rows, (tr("Cost"), _cost(calls))]


def _call(call: ModelCall) -> str:
    return tr(
        "{model}: {read} tokens in, {written} tokens out, {time} ({prompt})",
        model=call.model,
        read=call.input_tokens,
        written=call.output_tokens,
        time=_duration(call.duration_ms),
        prompt=call.prompt,
    )


def _cost(calls: Sequence[ModelCall]) -> str:
    known = [call.cost_micro_usd for call in calls if call.cost_micro_usd is not None]
    if not known:
        return tr("unknown: no price is set for this model")
    dollars = number_text(f"{sum(known) / _MICRO:.4f} USD")
    if len(known) == len(calls):
        return dollars
    return tr("{cost}, plus calls with unknown price", cost=dollars)


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


@dataclass(frozen=True, slots=True)
class ExplanationView:
    """An explanation: the steps in words; then, collapsed, passages, signals and other figures.

    ``closed`` is the reason why passages are left out, or "". ``has_context`` is True if a passage
    was not found itself but is adjacent to one that was. Without ``scored``, passages and signals
    are in words alone, without other figures.
    """

    scored: bool
    steps: tuple[Step, ...]
    sure: StatedConfidence | None
    signals: tuple[str, ...]
    passages: tuple[PassageRow, ...]
    closed: str
    has_context: bool
    weights: tuple[WeightRow, ...]
    groups: tuple[FigureGroup, ...]


def explanation_view(
    outcome: Outcome,
    gate: Gate,
    *,
    closed: str = "",
    scored: bool = True,
    filters: SearchFilters = NO_FILTERS,
) -> ExplanationView:
    """Return the explanation of an outcome of a private conversation.

    Args:
        outcome: The outcome as its reader may see it now.
        gate: Returns the effect of each signal.
        closed: The reason why passages are left out, or "".
        scored: Whether to include search scores. They are for admins only: they reflect word
            frequencies over all pages, also those that an asker may not read.
        filters: What the asker limited the search to.
    """
    trace = outcome.trace
    weights = feature_weights_of(outcome, gate)
    return ExplanationView(
        scored=scored,
        steps=steps_of(outcome, weights, private=True, filters=filters),
        sure=stated_confidence(outcome),
        signals=tuple(PASSAGE_SIGNALS.values()) if scored else (),
        passages=passage_rows(trace.passages, scored=scored),
        closed=closed,
        has_context=scored and not all(each.signals for each in trace.passages),
        weights=weight_rows(weights, trace.features),
        groups=figure_groups(trace, {each.name for each in weights}) if scored else (),
    )


def feature_weights_of(outcome: Outcome, gate: Gate) -> Sequence[FeatureWeight]:
    """Return the effect of each signal on the judgement; () if confidence did not decide."""
    if stated_confidence(outcome) is None:
        return ()
    return gate.weights(
        outcome.trace.features, outcome.trace.calibration or _default_calibration(outcome.trace)
    )


def _default_calibration(trace: Trace) -> str:
    """Return the calibration of a trace that was recorded without its name.

    A model's answers had another gate then, so theirs is CAREFUL, which has no weights.
    """
    return CAREFUL if any(call.purpose == "answer" for call in trace.calls) else "extractive"
