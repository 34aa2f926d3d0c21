"""Who may see which part of the embedded index. Fails closed: what is not met is not seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rag.types import Principal, Question, Readers


@dataclass(frozen=True, slots=True)
class Scope:
    """Chunks of one tenant and space that the same people may read."""

    id: int
    tenant: str
    space: str
    readers: Readers


def open_to(readers: Readers, principals: frozenset[Principal]) -> bool:
    """Tell whether every set holds one of the principals; no sets at all means nobody."""
    return bool(readers) and all(not names.isdisjoint(principals) for names in readers)


def permitted(
    scopes: Iterable[Scope], question: Question, principals: frozenset[Principal]
) -> list[int]:
    """Return the ids of the scopes that a question may look into, for these principals."""
    return [
        scope.id
        for scope in scopes
        if scope.tenant == question.tenant
        and (question.spaces is None or scope.space in question.spaces)
        and open_to(scope.readers, principals)
    ]
