"""Sets of readers, all of which must be met; pure."""

from __future__ import annotations

from collections.abc import Iterable

from rag.types import Principal


def least(readers: Iterable[frozenset[Principal]]) -> list[frozenset[Principal]]:
    """Return the fewest of these sets that ask the same, in one order whatever order they had.

    Who is in a set is in every larger one, so that those ask nothing more. A set without anybody
    leaves nothing but itself.
    """
    kept: list[frozenset[Principal]] = []
    for names in sorted(set(readers), key=lambda names: (len(names), sorted(names))):
        if not any(smaller <= names for smaller in kept):
            kept.append(names)
    return kept
