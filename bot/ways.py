"""With which model a question is answered: as its channel's policy says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from bot.domain.types import NO_MODEL, Reply, Route
from rag.pipeline import Pipeline
from rag.types import ModelCall, Turn

_GONE = "the channel's model is not among OPENAI_CHANNEL_MODELS: the configured one was used"


class Routes(Protocol):
    """Tells what a message wants. Never raises."""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route: ...


class AnswersGenerically(Protocol):
    """Small talk and general knowledge, without the index. Never raises."""

    async def reply(
        self, route: Route, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What routes a message and answers it, all with the same model or all without one.

    ``model`` is its name as configured, "" without one. ``notes`` say why it was taken, where that
    is not plain.
    """

    router: Routes
    generic: AnswersGenerically
    pipeline: Pipeline
    model: str = ""
    notes: tuple[str, ...] = ()


class Ways:
    """The ways of a desk.

    Args:
        configured: Taken where a channel says nothing.
        others: By the model that a channel names; the one for NO_MODEL calls none. It may be
            left out where the configured way calls none either.
    """

    def __init__(self, configured: Way, others: Mapping[str, Way]) -> None:
        self._configured = configured
        self._without = others.get(NO_MODEL, configured)
        self._others = others

    def of(self, model: str, *, quiet: bool) -> Way:
        """Return the way for a policy's model.

        Where it is to be ``quiet``, routing and small talk take no model: one is asked only once
        the index speaks of the question.
        """
        way = self._named(model)
        if not quiet:
            return way
        without = self._without
        return replace(way, router=without.router, generic=without.generic)

    def _named(self, model: str) -> Way:
        if not model:
            return self._configured
        if model == NO_MODEL:
            return self._without
        chosen = self._others.get(model)
        if chosen is not None:
            return chosen
        return replace(self._configured, notes=(_GONE,))
