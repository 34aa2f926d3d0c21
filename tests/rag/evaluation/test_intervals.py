from __future__ import annotations

import math

import numpy as np

from rag.evaluation.metrics import bootstrap, mean, wilson


def test_wilson_by_hand() -> None:
    found = wilson(8, 10)

    assert found.value == 0.8
    assert math.isclose(found.low, 0.4902, abs_tol=1e-4)
    assert math.isclose(found.high, 0.9433, abs_tol=1e-4)


def test_wilson_at_the_ends_stays_within_bounds() -> None:
    assert math.isclose(wilson(10, 10).high, 1.0)
    assert wilson(10, 10).low < 1.0
    assert math.isnan(wilson(0, 0).value)


def test_the_interval_of_a_mean_holds_the_mean_and_repeats_exactly() -> None:
    values = np.random.default_rng(3).normal(0.7, 0.2, 200).tolist()
    groups = list(range(200))
    found = mean(values, groups)

    assert found.low < found.value < found.high
    assert math.isclose(found.high - found.low, 2 * 1.96 * 0.2 / math.sqrt(200), rel_tol=0.25)
    assert mean(values, groups) == found


def test_questions_on_one_page_are_drawn_together_and_widen_the_interval() -> None:
    values = [1.0] * 50 + [0.0] * 50
    apart = mean(values, list(range(100)))
    together = mean(values, [n // 25 for n in range(100)])

    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_a_statistic_that_cannot_always_be_told_leaves_those_draws_out() -> None:
    found = bootstrap([1, 2], lambda times: math.nan if times[0] == 0 else 1.0)

    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_no_cases_give_no_figure() -> None:
    assert math.isnan(mean([], []).value)
