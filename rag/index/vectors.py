"""The vectors of the embedded index in memory, searched exactly, permissions first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from rag.types import Vectors

_NOBODY = 0
"""No scope has this id: what is in no scope is never found."""


class VectorTable:
    """Vectors by chunk number, each with its page and scope; rows of removed chunks are reused."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._rows: dict[int, int] = {}
        self._free: list[int] = []
        self._vectors: Vectors = np.zeros((0, dimensions), dtype=np.float32)
        self._chunks, self._pages, self._scopes = np.zeros((3, 0), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, chunk: int, page: int, scope: int, vector: Vectors) -> None:
        """Add a chunk, or replace what is known of it."""
        row = self._rows.get(chunk)
        if row is None:
            row = self._rows[chunk] = self._new_row()
        self._vectors[row] = vector
        self._chunks[row] = chunk
        self._pages[row] = page
        self._scopes[row] = scope

    def remove(self, chunk: int) -> None:
        """Forget a chunk; one that is not there is no error."""
        row = self._rows.pop(chunk, None)
        if row is not None:
            self._scopes[row] = _NOBODY
            self._free.append(row)

    def nearest(
        self, vector: Vectors, scopes: Iterable[int], excluded_pages: Collection[int], k: int
    ) -> list[tuple[int, float]]:
        """Return the ``k`` nearest permitted chunks and their cosines, nearest first."""
        rows = np.flatnonzero(self._permitted(scopes, excluded_pages))
        if len(rows) == 0:
            return []
        cosines = self._cosines(vector, rows)
        if len(rows) > k:
            best = np.argpartition(-cosines, k - 1)[:k]
            rows, cosines = rows[best], cosines[best]
        order = np.lexsort((self._chunks[rows], -cosines))
        chunks = self._chunks[rows[order]].tolist()
        return list(zip(chunks, cosines[order].tolist(), strict=True))

    def cosines(self, vector: Vectors, chunks: Collection[int]) -> Mapping[int, float]:
        """Return the cosines of the given chunks, of those that have a vector."""
        known = [chunk for chunk in chunks if chunk in self._rows]
        if not known:
            return {}
        rows = np.array([self._rows[chunk] for chunk in known], dtype=np.int64)
        return dict(zip(known, np.vecdot(self._vectors[rows], vector).tolist(), strict=True))

    def _permitted(
        self, scopes: Iterable[int], excluded_pages: Collection[int]
    ) -> NDArray[np.bool_]:
        used = len(self._rows) + len(self._free)
        allowed = np.zeros(int(self._scopes[:used].max(initial=_NOBODY)) + 1, dtype=np.bool_)
        allowed[[scope for scope in scopes if _NOBODY < scope < len(allowed)]] = True
        permitted: NDArray[np.bool_] = allowed[self._scopes[:used]]
        if excluded_pages:
            permitted &= ~np.isin(self._pages[:used], list(excluded_pages))
        return permitted

    def _cosines(self, vector: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Return the cosines of some rows.

        Copying rows out costs more than a few needless products do. Row by row (vecdot) keeps to
        one core: a matrix product spreads over all and waits for the slowest, which on a busy
        machine took 20 times as long.
        """
        used = len(self._rows) + len(self._free)
        if len(rows) * 4 < used:
            some: Vectors = np.vecdot(self._vectors[rows], vector)
            return some
        every: Vectors = np.vecdot(self._vectors[:used], vector)[rows]
        return every

    def _new_row(self) -> int:
        if self._free:
            return self._free.pop()
        row = len(self._rows)
        if row >= len(self._chunks):
            self._reserve(max(1024, 2 * row))
        return row

    def _reserve(self, rows: int) -> None:
        """Make room for ``rows`` chunks, those that are there kept."""
        vectors = np.zeros((rows, self._dimensions), dtype=np.float32)
        numbers = np.zeros((3, rows), dtype=np.int64)
        kept = len(self._chunks)
        vectors[:kept] = self._vectors
        numbers[:, :kept] = (self._chunks, self._pages, self._scopes)
        self._vectors = vectors
        self._chunks, self._pages, self._scopes = numbers
