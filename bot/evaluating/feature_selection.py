"""Which features a regression gets when there are few wrong, or few right, answers to learn from.

A regression on more features than its data bear fits accidents: at least five of the rarer label
are wanted for each (Vittinghoff and McCulloch 2007, "Relaxing the rule of ten events per variable
in logistic and Cox regression").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

EVENTS_PER_FEATURE = 5

LEAST_GAIN = 0.0005
"""By how much a further feature has to lower the Brier score."""

Loss = Callable[[Sequence[str]], float | None]
"""The held-out Brier score of some features; None where one of them gets the wrong sign."""


def most_features(right: int, wrong: int) -> int:
    """Return how many features so many right and wrong answers bear; one at least."""
    return max(1, min(right, wrong) // EVENTS_PER_FEATURE)


def forward_selected(names: Sequence[str], most: int, loss: Loss) -> list[str]:
    """Return the features that lower the loss most, one added at a time, ``most`` of them at most.

    It ends when no further one gains LEAST_GAIN. All are returned where ``most`` allows it, and
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
