"""Convert cases to training samples for the gate, and select features they can support; pure.

A regression with more features than its data support fits accidents: at least five samples of the
rarer label are wanted for each feature (Vittinghoff and McCulloch 2007, "Relaxing the rule of ten
events per variable in logistic and Cox regression").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.question_metrics import kind_of
from bot.answering.gate import CAREFUL_RULE, is_of_model, with_careful_rule

CasesBySet = Sequence[tuple[str, Sequence[Case]]]
"""The cases of each set, by the set's name."""

UNANSWERABLE_SHARE = 1 / 3
"""Assumed share of real questions without an answer in the pages; sample weights produce it."""

ANSWERABLE = "answerable"

_TRAINING_KINDS = frozenset({"answerable", "near_miss", "far", "underspecified"})


@dataclass(frozen=True, slots=True)
class Sample:
    """The features of one composed answer, with its label and weight.

    ``kind`` is ``answerable``, or the kind of question without an answer: ``near_miss``, ``far``,
    ``underspecified`` or ``withheld``. ``group`` keeps questions on the same page in one fold;
    ``data`` names the set. ``weight`` makes every set count the same, and every kind of question
    without an answer: together those get UNANSWERABLE_SHARE of a set, however many were asked of
    each.
    """

    features: Mapping[str, float]
    right: bool
    kind: str
    group: str
    data: str
    weight: float = 1.0


def samples_of(asked: CasesBySet) -> list[Sample]:
    """Return the training samples: composed answers, right ones and all others."""
    return [sample for name, cases in asked for sample in _of_set(name, cases)]


def _of_set(name: str, cases: Sequence[Case]) -> list[Sample]:
    learnt = [case for case in cases if case.kind in _TRAINING_KINDS]
    # Cases without a composed answer count here too: where a composer refuses most of a kind,
    # the few others should not weigh as much as all of them.
    cells = Counter(map(kind_of, learnt))
    return [
        Sample(
            features=_training_features(case),
            right=case.right or case.right_in_part,
            kind=kind_of(case),
            group=case.row.group,
            data=name,
            weight=_share(kind_of(case), cells) / cells[kind_of(case)],
        )
        for case in learnt
        if case.features.get("has_claims")
    ]


def _training_features(case: Case) -> Mapping[str, float]:
    of_model = is_of_model(case.calibration)
    return with_careful_rule(case.features) if of_model else case.features


def _share(kind: str, cells: Mapping[str, int]) -> float:
    """Return the share of a set's weight that a kind of question gets."""
    others = sum(each != ANSWERABLE for each in cells)
    if kind == ANSWERABLE:
        return 1 - UNANSWERABLE_SHARE if others else 1.0
    return UNANSWERABLE_SHARE / others


EXPECTED_SIGNS: Mapping[str, int] = {
    "score_best": 1,
    "score_gap_2": 1,
    "score_gap_5": 1,
    "score_mean": 1,
    "score_spread": 1,
    "keyword_best": 1,
    "vector_best": 1,
    "vector_mean": 1,
    "tokens_best": 1,
    "tokens_lead": 1,
    "rank_agreement": 1,
    "pages_close": -1,
    "best_page_share": 1,
    "coverage_best": 1,
    "coverage_first": 1,
    "coverage_top_3": 1,
    "rarest_uncovered": -1,
    "composer_best_quote_score": 1,
    "composer_best_quote_coverage": 1,
    "composer_best_quote_cosine": 1,
    "composer_quotes_coverage": 1,
    "composer_lead_over_other_pages": 1,
    "composer_answer_type_missing": -1,
    "composer_section_score": 1,
    "composer_section_gap": 1,
    "composer_section_lead": 1,
    "supported_share": 1,
    "composer_answerable": 1,
    "composer_self_rating": 1,
    "composer_partial": -1,
    "composer_conflict": -1,
    "composer_claims_kept_share": 1,
    "composer_quote_exact_share": 1,
    "composer_figures_quoted": 1,
    "composer_words_supported": 1,
    "composer_lines_found_share": 1,
    "composer_wording_literal": 1,
    CAREFUL_RULE: 1,
}
"""The features that a regression may use, and the only sign allowed for each.

A coefficient of the other sign fits an accident of the training set; its feature is left out."""

EVENTS_PER_FEATURE = 5

LEAST_GAIN = 0.0005
"""Minimum reduction of the Brier score that justifies a further feature."""

Loss = Callable[[Sequence[str]], float | None]
"""Returns the held-out Brier score of some features; None where one of them gets the wrong sign."""


def most_features(right: int, wrong: int) -> int:
    """Return how many features the right and wrong answers support; at least one."""
    return max(1, min(right, wrong) // EVENTS_PER_FEATURE)


def forward_selected(names: Sequence[str], most: int, loss: Loss) -> list[str]:
    """Return at most ``most`` features, added one at a time by the lowest loss.

    Stops when no further feature gains LEAST_GAIN. All are returned where ``most`` allows it, and
    none where each gets the wrong sign.
    """
    if most >= len(names):
        return list(names)
    chosen: list[str] = []
    best = float("inf")
    while len(chosen) < most:
        tried = {name: loss([*chosen, name]) for name in names if name not in chosen}
        valid = {name: value for name, value in tried.items() if value is not None}
        name = min(valid, key=lambda each: valid[each], default=None)
        if name is None or valid[name] > best - LEAST_GAIN:
            break
        chosen.append(name)
        best = valid[name]
    return chosen
