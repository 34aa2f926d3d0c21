"""Keeps what the composer made, so that answers the gate held back can be judged too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rag.ports import Composer, Composition
from rag.types import Passage


@dataclass(frozen=True, slots=True)
class Composed:
    """One composition and the passages it was made of."""

    passages: tuple[Passage, ...]
    composition: Composition


class RecordingComposer:
    """Implements Composer by another one and remembers the last result.

    For evaluation, which asks one question at a time; not for serving.
    """

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self._last: Composed | None = None

    @property
    def name(self) -> Literal["extractive", "model"]:
        return self._composer.name

    async def compose(self, question: str, passages: Sequence[Passage]) -> Composition:
        composition = await self._composer.compose(question, passages)
        self._last = Composed(tuple(passages), composition)
        return composition

    def take(self) -> Composed | None:
        """Return what was composed since the last call, if anything."""
        last, self._last = self._last, None
        return last
