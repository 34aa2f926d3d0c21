"""Certify a score threshold: at most a target share of wrong answers, with confidence; pure.

Fixed-sequence testing (Learn then Test): thresholds are tested from the strictest to the loosest,
each by an exact binomial (Clopper-Pearson) test at the full level, up to the first failure. Because
the order is fixed in advance, no correction for the number of tests is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FIRST_STEP = 70
"""Number of answers that the strictest threshold accepts: fewer could not pass the first test."""

_STEPS = 50
_EXACT = 1e-12


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certified guarantee for answers whose score is at least ``threshold``.

    With ``confidence``, at most ``target`` of them are wrong, provided that future questions are
    like the labelled ones. ``accepted`` and ``wrong`` count the labelled questions at that
    threshold.
    """

    threshold: float
    target: float
    confidence: float
    questions: int
    accepted: int
    wrong: int

    @property
    def coverage(self) -> float:
        """Return the share of the labelled questions that is answered."""
        return self.accepted / self.questions


def certify(
    scores: Sequence[float],
    labels: Sequence[bool],
    *,
    target: float = 0.05,
    confidence: float = 0.9,
) -> Certificate | None:
    """Return the loosest threshold that can be certified, or None when there is none.

    Args:
        scores: probability of each labelled question's answer; not used to train the gate.
        labels: whether the answer was right.
        target: the largest share of wrong answers among the accepted, 0..1.
        confidence: probability that the guarantee holds, 0..1.
    """
    ranked = sorted(zip(scores, labels, strict=True), key=lambda pair: -pair[0])
    found: Certificate | None = None
    for accepted in _steps([score for score, _ in ranked]):
        wrong = sum(not right for _, right in ranked[:accepted])
        if upper_bound(wrong, accepted, confidence) > target:
            break
        found = Certificate(
            threshold=ranked[accepted - 1][0],
            target=target,
            confidence=confidence,
            questions=len(ranked),
            accepted=accepted,
            wrong=wrong,
        )
    return found


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A threshold chosen on one half of the questions, and its error on the other half.

    ``bound`` is the error that is exceeded with probability at most 1 - ``confidence``; 1.0 when no
    question is accepted. ``questions`` and the following count the second half.
    """

    threshold: float
    questions: int
    accepted: int
    wrong: int
    bound: float
    confidence: float


def held_out(
    choosing: Sequence[tuple[float, bool]],
    judging: Sequence[tuple[float, bool]],
    *,
    target: float = 0.05,
    confidence: float = 0.9,
) -> HeldOut | None:
    """Choose a threshold on scores with labels, and bound its error on others.

    The threshold is the loosest whose share of wrong answers is at most ``target`` on ``choosing``,
    in hindsight; None when there is none. The bound is valid because ``judging`` had no part in the
    choice.
    """
    loosest: float | None = None
    wrong = 0
    ranked = sorted(choosing, key=lambda pair: -pair[0])
    for accepted, (score, right) in enumerate(ranked, 1):
        wrong += not right
        last_of_ties = accepted == len(ranked) or ranked[accepted][0] < score
        if last_of_ties and wrong <= target * accepted:
            loosest = score
    if loosest is None:
        return None
    labels = [right for score, right in judging if score >= loosest]
    found = sum(not right for right in labels)
    return HeldOut(
        threshold=loosest,
        questions=len(judging),
        accepted=len(labels),
        wrong=found,
        bound=upper_bound(found, len(labels), confidence),
        confidence=confidence,
    )


def upper_bound(wrong: int, n: int, confidence: float) -> float:
    """Return the one-sided Clopper-Pearson upper bound of an error rate.

    At any higher rate, at most ``wrong`` errors in ``n`` have a probability below 1 -
    ``confidence``. ``n`` of 0 gives 1.0.
    """
    if wrong >= n:
        return 1.0
    low, high = wrong / n, 1.0
    while high - low > _EXACT:
        middle = (low + high) / 2
        if _at_most(wrong, n, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _steps(descending: Sequence[float]) -> Iterator[int]:
    """Yield how many answers each threshold accepts, strictest first; ties are never split."""
    n = len(descending)
    width = max(1, (n - FIRST_STEP) // _STEPS)
    last = 0
    for wanted in range(FIRST_STEP, n + width, width):
        accepted = min(wanted, n)
        while 0 < accepted < n and descending[accepted] == descending[accepted - 1]:
            accepted += 1
        if n >= FIRST_STEP and accepted > last:
            last = accepted
            yield accepted


def _at_most(k: int, n: int, p: float) -> float:
    """Return the binomial probability of at most ``k`` of ``n`` at rate ``p``."""
    if p <= 0:
        return 1.0
    if p >= 1:
        return float(k >= n)
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(i + 1)
        - math.lgamma(n - i + 1)
        + i * math.log(p)
        + (n - i) * math.log1p(-p)
        for i in range(k + 1)
    ]
    top = max(logs)
    return min(1.0, math.exp(top) * sum(math.exp(value - top) for value in logs))
