"""Vectors of one field: nearest neighbours by cosine, exactly (the service's graph is not here)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.search_service.columns import Mask

Floats = NDArray[np.float32]
_DECIMALS = 6
"""Where equal vectors are equal, whatever order float32 was summed in."""


def score_of(cosine: float) -> float:
    """Return the service's score of a cosine: 1/3 for opposite, 1 for equal."""
    return 1.0 / (2.0 - cosine)


class VectorIndex:
    """Unit vectors by row, with room to grow."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._units: Floats = np.zeros((64, dimensions), dtype=np.float32)
        self._present = np.zeros(64, dtype=np.bool_)
        self._length = 0

    def append(self, vector: Sequence[float] | None) -> None:
        """Give the next row its vector, or none."""
        if self._length == len(self._units):
            self._units = np.concatenate([self._units, np.zeros_like(self._units)])
            self._present = np.concatenate([self._present, np.zeros_like(self._present)])
        if vector is not None:
            self._units[self._length] = _unit(vector)
            self._present[self._length] = True
        self._length += 1

    def nearest(
        self, vector: Sequence[float], k: int, within: Mask, keys: Sequence[str]
    ) -> list[tuple[int, float]]:
        """Return at most ``k`` rows and their cosines, nearest first, ties by key."""
        rows = np.flatnonzero(within & self._present[: self._length])
        if not len(rows):
            return []
        cosines = np.round(self._units[rows] @ _unit(vector), _DECIMALS)
        if len(rows) > k:
            least = np.partition(cosines, len(cosines) - k)[len(cosines) - k]
            rows, cosines = rows[cosines >= least], cosines[cosines >= least]
        near = [(int(row), float(cosine)) for row, cosine in zip(rows, cosines, strict=True)]
        return sorted(near, key=lambda each: (-each[1], keys[each[0]]))[:k]


def _unit(vector: Sequence[float]) -> Floats:
    given = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(given))
    return given / length if length else given
