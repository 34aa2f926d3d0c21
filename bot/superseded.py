"""Pages that the company marks as superseded are told as such wherever they are shown."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from bot.domain.ports import AnswersInquiries, ReportStage
from bot.domain.types import Inquiry, Outcome, Reply, Response, Source

Shown = TypeVar("Shown", bound=Response)


class MarksSuperseded:
    """Implements bot.domain.ports.AnswersInquiries over another one.

    Args:
        inner: What answers.
        labels: Those of superseded pages, in whatever case.
    """

    def __init__(self, inner: AnswersInquiries, labels: Collection[str]) -> None:
        self._inner = inner
        self._labels = frozenset(label.casefold() for label in labels)

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        outcome = await self._inner.handle(inquiry, report)
        private = outcome.private
        return replace(
            outcome,
            response=self._response(outcome.response),
            private=None if private is None else self._response(private),
        )

    def _response(self, response: Shown) -> Shown:
        if isinstance(response, Reply):
            return replace(response, sources=self._marked(response.sources))
        return replace(response, suggestions=self._marked(response.suggestions))

    def _marked(self, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        return tuple(replace(each, superseded=self._label(each)) for each in sources)

    def _label(self, source: Source) -> str:
        return next((label for label in source.labels if label.casefold() in self._labels), "")
