"""How many companies are generated, on which index, with which settings, and how long they live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.sweeps.sizes import SWEEP

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

SETTINGS: Sequence[Mapping[str, object]] = ({}, {"answer_cache": True})
"""Further settings: the companies are started with one after the other of these."""

CASES = 250
ROUNDS = 5
VIEWS = 120
_INDEXES = ("embedded", "azure")


@dataclass(frozen=True)
class Plan:
    """A company by its seed; between ``rounds`` of questions it changes.

    ``views`` are opened by each person and round, where there are so many.
    """

    seed: int
    index: str
    model: bool
    cases: int = CASES
    rounds: int = ROUNDS
    views: int = VIEWS
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def saves_answers(self) -> bool:
        return self.settings.get("answer_cache") is True


def whole(seeds: Iterable[int]) -> list[ParameterSet]:
    """Return a plan for each seed, half of them on each index, and with and without a model.

    Half of them save answers, so that four seeds in a row have all of these.
    """
    return [
        _parameter(
            Plan(
                seed,
                _INDEXES[seed % 2],
                model=seed // 2 % 2 == 0,
                settings=SETTINGS[(seed // 2 + seed // 4) % len(SETTINGS)],
            ),
            SWEEP,
        )
        for seed in seeds
    ]


def smoke(seed: int, cases: int) -> list[ParameterSet]:
    """Return two small plans: one with a model on our own index, one without on Azure's double.

    None saves answers: too few are asked for one to be given again.
    """
    plans = (
        Plan(seed, "embedded", model=True, cases=cases, rounds=2, views=75),
        Plan(seed + 1, "azure", model=False, cases=cases, rounds=2, views=75),
    )
    return [_parameter(plan, ()) for plan in plans]


def _parameter(plan: Plan, marks: Sequence[pytest.MarkDecorator]) -> ParameterSet:
    with_model = "model" if plan.model else "no-model"
    saving = "-saving" if plan.saves_answers else ""
    return pytest.param(plan, id=f"{plan.index}-{with_model}{saving}-{plan.seed}", marks=marks)
