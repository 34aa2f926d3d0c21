"""Hold the vectors and access scopes of the embedded index in memory, and search them exactly.

Permissions come first: only vectors of permitted scopes are compared. Tokens are compared by late
interaction (MaxSim). A process detects changes by the revision that each write increments.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rag.types import AccessScope, TokenSigns, Vectors, decode_readers

_NOBODY = 0
"""No scope has this id, so chunks with it are never found."""

_ONE_CORE = 2**18
"""Multiplications up to which OpenBLAS 0.3 makes a matrix product on one core. A larger one may
wait for all cores, which on a busy machine takes 20 times as long."""


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
        """Add or replace a chunk."""
        row = self._rows.get(chunk)
        if row is None:
            row = self._rows[chunk] = self._new_row()
        self._vectors[row] = vector
        self._chunks[row] = chunk
        self._pages[row] = page
        self._scopes[row] = scope

    def remove(self, chunk: int) -> None:
        """Remove a chunk; a missing one is no error."""
        row = self._rows.pop(chunk, None)
        if row is not None:
            self._scopes[row] = _NOBODY
            self._free.append(row)

    def nearest(
        self,
        vector: Vectors,
        scopes: Iterable[int],
        excluded_pages: Collection[int],
        k: int,
        *,
        among: Collection[int] | None = None,
    ) -> list[tuple[int, float]]:
        """Return the ``k`` nearest permitted chunks and their cosines, nearest first.

        Only chunks in ``among`` are permitted, unless it is None.
        """
        permitted = self._permitted(scopes, excluded_pages)
        if among is not None:
            permitted &= np.isin(self._chunks[: len(permitted)], np.fromiter(among, np.int64))
        rows = np.flatnonzero(permitted)
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
        """Return the cosines of those given chunks that have a vector."""
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

        Copying rows out costs more than a few needless products. Row by row (vecdot) stays on one
        core: a matrix product spreads over all cores and waits for the slowest, which on a busy
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
        """Grow the arrays to ``rows`` chunks, keeping their contents."""
        vectors = np.zeros((rows, self._dimensions), dtype=np.float32)
        numbers = np.zeros((3, rows), dtype=np.int64)
        kept = len(self._chunks)
        vectors[:kept] = self._vectors
        numbers[:, :kept] = (self._chunks, self._pages, self._scopes)
        self._vectors = vectors
        self._chunks, self._pages, self._scopes = numbers


def token_similarity(question: Vectors, chunks: Sequence[TokenSigns]) -> list[float]:
    """Return for each chunk the mean, over the question's tokens, of the nearest token's cosine.

    A chunk's tokens are stored as signs only, so the cosines are estimates: sufficient to order
    passages, and about a fifth below the true values.

    Args:
        question: Unit-length token vectors, shape (tokens, dimensions); at least one.
        chunks: Signs of each chunk's tokens; at least one token each.
    """
    tokens = np.ascontiguousarray(question.T)
    return [_mean_nearest(tokens, chunk) for chunk in chunks]


def _mean_nearest(tokens: Vectors, packed: TokenSigns) -> float:
    """Compute one chunk at a time, so that its unpacked vectors stay in the processor's cache.

    ``tokens`` are the question's, one a column. The product is made in parts that stay on one core
    (_ONE_CORE).
    """
    dimensions, count = tokens.shape
    signs = _sign_table().take(packed, axis=0).reshape(len(packed), dimensions)
    if count == 1:
        # A matrix times a vector is spread over all cores from a smaller size on.
        return float(np.vecdot(signs, tokens[:, 0]).max()) / math.sqrt(dimensions)
    rows = max(1, _ONE_CORE // tokens.size)
    nearest = (signs[:rows] @ tokens).max(axis=0)
    for at in range(rows, len(signs), rows):
        nearest = np.maximum(nearest, (signs[at : at + rows] @ tokens).max(axis=0))
    mean: float = nearest.sum() / count
    return float(mean / math.sqrt(dimensions))


@cache
def _sign_table() -> Vectors:
    """Return for each byte its eight bits as -1 or 1."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    return bits.astype(np.float32) * 2 - 1


class VectorCache:
    """Scopes and vectors as of one revision of the index.

    Every change of the index increments its revision and marks the affected chunks; a refresh reads
    only those marked since the last one.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.revision = 0
        """The revision of the index that the memory holds."""
        self.scopes: dict[int, AccessScope] = {}
        self.vectors = VectorTable(dimensions)

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Update to the state of the connection's snapshot."""
        facts = read_facts(connection)
        revision = int(facts["revision"])
        if revision == self.revision:
            return
        if self.revision < int(facts["forgotten"]):
            self.revision = 0
            self.vectors = VectorTable(self.dimensions)
        self._read_scopes(connection)
        self._read_removals(connection)
        if self.dimensions:
            self._read_vectors(connection)
        self.revision = revision

    def _read_scopes(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            "SELECT id, tenant, space, readers FROM scopes WHERE id > ?",
            (max(self.scopes, default=0),),
        )
        for number, tenant, space, readers in rows:
            self.scopes[number] = AccessScope(number, tenant, space, decode_readers(readers))

    def _read_removals(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT chunk FROM removals WHERE revision > ?", (self.revision,))
        for (chunk,) in rows:
            self.vectors.remove(chunk)

    def _read_vectors(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            "SELECT places.chunk, places.page, places.scope, vectors.vector "
            "FROM places JOIN vectors ON vectors.chunk = places.chunk WHERE places.revision > ?",
            (self.revision,),
        )
        for chunk, page, scope, vector in rows:
            self.vectors.put(chunk, page, scope, np.frombuffer(vector, dtype="<f4"))


def read_facts(connection: sqlite3.Connection) -> Mapping[str, str | int]:
    """Return the index's metadata, by name."""
    return dict(connection.execute("SELECT name, value FROM facts").fetchall())
