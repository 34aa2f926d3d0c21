"""Everything that is known of an outcome: the steps in words, and the figures behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.types import Outcome, Trace
from bot.gating.gate import Weight
from bot.gating.gate_file import CAREFUL
from bot.why.figures import Group, PassageRow, WeightRow, groups, passage_rows, weight_rows
from bot.why.ports import Weighs
from bot.why.signals import FOUND_BY
from bot.why.steps import Step, steps_of
from bot.why.sureness import Sure, sure_of


@dataclass(frozen=True, slots=True)
class WhyView:
    """The steps in words; then, behind folds, passages, signals and all other figures.

    ``closed`` says why passages are left out, or is "". ``has_context`` says that a passage was not
    found itself, but stands beside one that was. Without ``scored`` there are passages and signals
    in words alone, and no other figures.
    """

    scored: bool
    steps: tuple[Step, ...]
    sure: Sure | None
    signals: tuple[str, ...]
    passages: tuple[PassageRow, ...]
    closed: str
    has_context: bool
    weights: tuple[WeightRow, ...]
    groups: tuple[Group, ...]


def why_view(outcome: Outcome, gate: Weighs, *, closed: str = "", scored: bool = True) -> WhyView:
    """Return the explanation of an outcome that its asker alone was told, as they may see it now.

    ``gate`` tells what each signal did to it; ``closed`` says why passages are left out, if any.
    ``scored``: with the scores of the search, which are for admins: they count words over all
    pages, also those that an asker may not read.
    """
    trace = outcome.trace
    weights = weights_of(outcome, gate)
    return WhyView(
        scored=scored,
        steps=steps_of(outcome, weights, private=True),
        sure=sure_of(outcome),
        signals=tuple(FOUND_BY.values()) if scored else (),
        passages=passage_rows(trace.passages, scored=scored),
        closed=closed,
        has_context=scored and not all(each.signals for each in trace.passages),
        weights=weight_rows(weights, trace.features),
        groups=groups(trace, {each.name for each in weights}) if scored else (),
    )


def weights_of(outcome: Outcome, gate: Weighs) -> Sequence[Weight]:
    """Return what each signal did to a judgement; none where that did not decide."""
    if sure_of(outcome) is None:
        return ()
    return gate.weights(outcome.trace.features, outcome.trace.calibration or _usual(outcome.trace))


def _usual(trace: Trace) -> str:
    """Name what judged where that was not recorded yet: a model's answers had another gate."""
    return CAREFUL if any(call.purpose == "answer" for call in trace.calls) else "extractive"
