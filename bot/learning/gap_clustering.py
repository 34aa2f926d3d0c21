"""Group questions by meaning: all of them at night, and the nearest group of a new one.

Average linkage over cosines: two groups belong together if the questions of one are on average as
near to those of the other as ``NEAR``. The mean over all pairs is the product of two sums of
vectors, so that no matrix of pairs is kept.

Measured on 18F's questions (classes: their pages, or the question that several words ask) and on
CLINC150's: scikit-learn's average linkage finds the very same groups, but keeps a matrix of all
pairs, more than 1.6 GB for 20,000; its HDBSCAN, DBSCAN, single and Ward linkage find worse groups
with any one threshold. ``NEAR`` is within .05 of each set's best B-cubed F1.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag.types import Vectors

NEAR = 0.5
"""Least mean cosine of the questions of one group."""

_BLOCK = 1024
_FIRST_ROOM = 64

Labels = NDArray[np.int64]


class NearestGap:
    """Finds the gap of a new question among the present ones, and takes it in.

    A gap's vector is the sum of its questions' unit vectors.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._sums = np.zeros((0, 0), dtype=np.float32)
        self._counts = np.zeros(0, dtype=np.float32)

    @classmethod
    def over(cls, gaps: Sequence[str], vectors: Vectors) -> NearestGap:
        """Return the index of questions whose gaps are given."""
        made = cls()
        made._ids = list(dict.fromkeys(gaps))
        made._places = {gap: place for place, gap in enumerate(made._ids)}
        places = np.array([made._places[gap] for gap in gaps], dtype=np.int64)
        made._sums = np.zeros((len(made._ids), vectors.shape[1]), dtype=np.float32)
        np.add.at(made._sums, places, vectors)
        made._counts = np.bincount(places, minlength=len(made._ids)).astype(np.float32)
        return made

    def nearest(self, vector: Vectors) -> str | None:
        """Return the gap that is nearest to a question; None if none is near."""
        known = len(self._ids)
        if not known or self._sums.shape[1] != vector.shape[0]:
            return None
        cosines = self._sums[:known] @ vector / self._counts[:known]
        best = int(cosines.argmax())
        return self._ids[best] if cosines[best] >= NEAR else None

    def add(self, gap: str, vector: Vectors) -> None:
        """Add a question to a gap, which may be new."""
        place = self._places.get(gap)
        if place is None:
            place = self._places[gap] = len(self._ids)
            self._ids.append(gap)
            self._make_room(vector.shape[0])
        self._sums[place] += vector
        self._counts[place] += 1

    def _make_room(self, dimensions: int) -> None:
        room, known = len(self._counts), len(self._ids)
        if known <= room and self._sums.shape[1] == dimensions:
            return
        more = max(_FIRST_ROOM, known, 2 * room)
        sums = np.zeros((more, dimensions), dtype=np.float32)
        counts = np.zeros(more, dtype=np.float32)
        if self._sums.shape[1] == dimensions:
            sums[:room], counts[:room] = self._sums, self._counts
        self._sums, self._counts = sums, counts


def group(vectors: Vectors, near: float = NEAR) -> Labels:
    """Return the number of each question's group; blocking, some 20 seconds for 20,000.

    Each round merges all pairs of groups that are each other's nearest, which is exact for average
    linkage, because merging others brings no group nearer.
    """
    count = len(vectors)
    labels = np.arange(count)
    links = _Links(vectors)
    while True:
        first, second = links.mutual(near)
        if not len(first):
            return np.unique(labels, return_inverse=True)[1].astype(np.int64)
        links.merge(first, second, near)
        renamed = np.arange(count)
        renamed[second] = first
        labels = renamed[labels]


class _Links:
    """The groups that are left, each with the nearest other one."""

    def __init__(self, vectors: Vectors) -> None:
        self._sums = vectors.astype(np.float32, copy=True)
        self._counts = np.ones(len(vectors), dtype=np.float32)
        self._left = np.arange(len(vectors))
        self._nearest = np.zeros(len(vectors), dtype=np.int64)
        self._cosines = np.full(len(vectors), -1.0, dtype=np.float32)
        self._look(self._left)

    def mutual(self, near: float) -> tuple[Labels, Labels]:
        """Return the pairs to merge; the nearest pair alone if rounding hides that it is mutual."""
        first = self._left[self._cosines[self._left] >= near]
        if not len(first):
            return first, first
        second = self._nearest[first]
        both = (self._nearest[second] == first) & (first < second)
        if not both.any():
            best = int(self._cosines[first].argmax())
            both = np.arange(len(first)) == best
        return first[both], second[both]

    def merge(self, first: Labels, second: Labels, near: float) -> None:
        """Merge each second group into its first one."""
        self._sums[first] += self._sums[second]
        self._counts[first] += self._counts[second]
        changed = np.zeros(len(self._counts), dtype=bool)
        changed[first] = changed[second] = True
        gone = np.zeros(len(self._counts), dtype=bool)
        gone[second] = True
        self._left = self._left[~gone[self._left]]
        # What was not near to anything has nothing near now: a mean is between its parts.
        stale = changed[self._nearest[self._left]] & (self._cosines[self._left] >= near)
        self._look(self._left[changed[self._left] | stale])

    def _look(self, asked: Labels) -> None:
        """Find the nearest other group of each of some groups."""
        means = self._sums[self._left] / self._counts[self._left, None]
        places = np.zeros(len(self._counts), dtype=np.int64)
        places[self._left] = np.arange(len(self._left))
        for begin in range(0, len(asked), _BLOCK):
            some = asked[begin : begin + _BLOCK]
            rows = np.arange(len(some))
            cosines = means[places[some]] @ means.T
            cosines[rows, places[some]] = -2.0
            nearest = cosines.argmax(axis=1)
            self._nearest[some] = self._left[nearest]
            self._cosines[some] = cosines[rows, nearest]


Hold = Literal["kept", "claims"]
"""What happens to a gap that somebody decided on: ``claims``: it takes the group that has most of
its questions, before all others; ``kept``: its questions stay with it if another gap takes that."""


def inherit(
    labels: Labels,
    before: Sequence[str | None],
    holds: Mapping[str, Hold],
    new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
) -> Sequence[str]:
    """Return the gap of each question after grouping: groups keep the id of their predecessor.

    A group takes the gap that it shares most questions with, unless another group shares more with
    it. ``holds`` are the gaps that must not vanish.
    """
    shared = Counter(
        (int(label), gap) for label, gap in zip(labels, before, strict=True) if gap is not None
    )
    ranked = sorted(
        shared.items(), key=lambda each: (holds.get(each[0][1]) != "claims", -each[1], each[0])
    )
    taken: dict[int, str] = {}
    given: set[str] = set()
    for (label, gap), _ in ranked:
        if label not in taken and gap not in given:
            taken[label] = gap
            given.add(gap)
    stay = holds.keys() - given
    fresh = defaultdict[int, str](new_id)
    return [
        gap if gap is not None and gap in stay else taken.get(int(label)) or fresh[int(label)]
        for label, gap in zip(labels, before, strict=True)
    ]


def moves(
    ids: Sequence[str], before: Sequence[str | None], after: Sequence[str]
) -> Mapping[str, Collection[str]]:
    """Return the questions that change their gap, by the gap that they go to."""
    moved = defaultdict[str, list[str]](list)
    for each, old, new in zip(ids, before, after, strict=True):
        if old != new:
            moved[new].append(each)
    return moved
