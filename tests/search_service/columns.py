"""A field's values by row, so that filters are sets of rows and not loops over documents."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
"""Which rows are meant; as long as there are rows, dead ones too."""

RANGES: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip


class Column:
    """Values of one field; a collection has several in a row, a missing value is None."""

    def __init__(self) -> None:
        self._rows_of: dict[Hashable, array[int]] = {}
        self._length = 0

    def append(self, values: Collection[Hashable]) -> None:
        """Give the next row its values."""
        for value in set(values):
            self._rows_of.setdefault(value, array("q")).append(self._length)
        self._length += 1

    def among(self, values: Collection[Hashable]) -> Mask:
        """Return the rows that have one of these values."""
        mask = np.zeros(self._length, dtype=np.bool_)
        for value in values:
            rows = self._rows_of.get(value)
            if rows is not None:
                mask[np.array(rows)] = True
        return mask

    def where(self, holds: Callable[[Any], bool]) -> Mask:
        """Return the rows with a value, None apart, of which this holds."""
        return self.among([v for v in self._rows_of if v is not None and holds(v)])

    def any_value(self) -> Mask:
        return self.where(lambda _: True)

    def counts(self, rows: Mask) -> dict[Hashable, int]:
        """Return how often each value is found in these rows, values that are not left out."""
        found = {v: int(rows[np.array(at)].sum()) for v, at in self._rows_of.items()}
        return {value: count for value, count in found.items() if count and value is not None}
