"""How far a model's answer is believed while no calibration was trained on its answers; pure."""

from __future__ import annotations

from collections.abc import Mapping

CAREFUL_RULE = "careful_rule"
"""The name of this rule's number as a feature: what training saw too rarely keeps a weight so."""

WEIGHED_BY_RULE = frozenset(
    {
        "supported_share",
        "composer_answerable",
        "composer_claims_kept_share",
        "composer_figures_quoted",
        "composer_partial",
        "composer_self_rating",
    }
)
"""The features that the rule is made of; beside it they would count twice."""

_BEST = 0.9
_RATING_COST = 0.6
_MISSING_COST = 0.2
_CHECK_COST = 0.3
_DIGITS = 2
"""Sums of these steps are compared with thresholds: 0.9 - 0.3 - 0.2 is to be 0.4 exactly."""


def careful_probability(features: Mapping[str, float]) -> float:
    """Return a rough chance that a model's answer is right, 0..0.9.

    It starts at 0.9 and each doubt lowers it by a fixed step: the model's own certainty is not
    high (medium 0.3, low 0.6; none given counts as low), it says that something is missing
    (0.2), a claim was dropped by the checks, or a figure is in no quote (0.3 each). With the usual
    bounds 0.65 and 0.4, "certain, nothing missing, every claim kept" is sure, "certain, something
    missing" is partial, one failed check or a medium certainty is unsure, two of these go to a
    person. The steps order answers; they are no measured frequencies.
    """
    if not features.get("composer_answerable", 1.0):
        return 0.0
    doubts = (
        _RATING_COST * (1 - features.get("composer_self_rating", 0.0)),
        _MISSING_COST * bool(features.get("composer_partial")),
        _CHECK_COST * (features.get("supported_share", 1.0) < 1),
        _CHECK_COST * (features.get("composer_figures_quoted", 1.0) < 1),
    )
    return max(0.0, round(_BEST - sum(doubts), _DIGITS))


def with_careful_rule(features: Mapping[str, float]) -> Mapping[str, float]:
    """Return the features of a model's answer with the rule's number among them."""
    return {**features, CAREFUL_RULE: careful_probability(features)}
