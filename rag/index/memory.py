"""What a process keeps in memory of the embedded index, and how it learns of changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import numpy as np

from rag.index.rows import readers_of
from rag.index.scopes import Scope
from rag.index.vectors import VectorTable


class Memory:
    """Scopes and vectors as of one revision of the index.

    Every change of the index counts its revision up and marks the chunks it touched; a refresh
    reads only those marked since the last one.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._revision = 0
        self.scopes: dict[int, Scope] = {}
        self.vectors = VectorTable(dimensions)

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Bring everything to the state that the connection's snapshot shows."""
        facts = facts_of(connection)
        revision = int(facts["revision"])
        if revision == self._revision:
            return
        if self._revision < int(facts["forgotten"]):
            self._revision = 0
            self.vectors = VectorTable(self.dimensions)
        self._read_scopes(connection)
        self._read_removals(connection)
        if self.dimensions:
            self._read_vectors(connection)
        self._revision = revision

    def _read_scopes(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            "SELECT id, tenant, space, readers FROM scopes WHERE id > ?",
            (max(self.scopes, default=0),),
        )
        for number, tenant, space, readers in rows:
            self.scopes[number] = Scope(number, tenant, space, readers_of(readers))

    def _read_removals(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            "SELECT chunk FROM removals WHERE revision > ?", (self._revision,)
        )
        for (chunk,) in rows:
            self.vectors.remove(chunk)

    def _read_vectors(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            "SELECT places.chunk, places.page, places.scope, vectors.vector "
            "FROM places JOIN vectors ON vectors.chunk = places.chunk WHERE places.revision > ?",
            (self._revision,),
        )
        for chunk, page, scope, vector in rows:
            self.vectors.put(chunk, page, scope, np.frombuffer(vector, dtype="<f4"))


def facts_of(connection: sqlite3.Connection) -> Mapping[str, str | int]:
    """Return the facts that the index keeps of itself, by name."""
    return dict(connection.execute("SELECT name, value FROM facts").fetchall())
