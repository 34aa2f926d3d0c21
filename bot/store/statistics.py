"""The record in figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from sqlalchemy import Executable, Row, Select

from bot.domain.json_codec import Codec
from bot.domain.record_reports import (
    MOST_CASES,
    MOST_QUESTIONS,
    DeliveryFailures,
    Figures,
    Percentiles,
    QuestionKind,
    Span,
    WaitingCases,
    by_day,
    kind_of,
    percentiles_of,
)
from bot.domain.types import Message
from bot.escalations.repeating import pressed_below
from bot.store import figures
from bot.store.transactions import Transactions

_AT_ONCE = 500
"""Ids in one statement."""


class StoredStatistics:
    """Implements bot.domain.record_reports.Statistics.

    Each figure is a statement of its own: between two of them others are answered.
    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        most_questions: int = MOST_QUESTIONS,
        most_cases: int = MOST_CASES,
    ) -> None:
        self._transactions = transactions
        self._questions = most_questions
        self._cases = most_cases
        self._messages = Codec(Message)

    async def figures(self, tenant: str, span: Span) -> Figures:
        """Return a span in figures."""
        dialect, most = self._transactions.dialect, self._questions
        kinds = await self._kinds(tenant, span)
        votes = await self._votes(figures.votes(dialect, tenant, span, most))
        lives = await self._rows(figures.lives(tenant, span, self._cases))
        seen = max(_total(kinds), _total(votes))
        return Figures(
            span=span,
            days=by_day(span, kinds, votes),
            answering=await self._answering(tenant, span),
            claiming=_since_opened(lives, "claimed_at"),
            replying=_since_opened(lives, "replied_at"),
            resolving=_since_opened(lives, "resolved_at"),
            shortened=seen >= most or len(lives) >= self._cases,
        )

    async def waiting(self, tenant: str) -> WaitingCases:
        """Return what waits for people now."""
        ((unclaimed, since),) = await self._rows(figures.in_states(tenant, ("open", "reopened")))
        ((claimed, _),) = await self._rows(figures.in_states(tenant, ("claimed", "answered")))
        return WaitingCases(unclaimed, since, claimed)

    async def troubles(self, tenant: str, span: Span) -> DeliveryFailures:
        """Return what could not be delivered."""
        ((answers,),) = await self._rows(figures.undelivered(tenant, span))
        ((news,),) = await self._rows(figures.untold(tenant, span))
        return DeliveryFailures(answers, news)

    async def any_question(self, tenant: str) -> bool:
        """Tell whether anything was ever asked."""
        return bool(await self._rows(figures.first(tenant)))

    async def _answering(self, tenant: str, span: Span) -> Percentiles:
        dialect, most = self._transactions.dialect, self._questions
        ((count, half, most_of),) = await self._rows(figures.answering(dialect, tenant, span, most))
        return Percentiles(count, float(half), float(most_of)) if count else Percentiles()

    async def _kinds(self, tenant: str, span: Span) -> Mapping[date, Counter[QuestionKind]]:
        """Count what became of questions; a press counts for the question that it is below."""
        dialect, most = self._transactions.dialect, self._questions
        counted: defaultdict[date, Counter[QuestionKind]] = defaultdict(Counter)
        for day, *became, count in await self._rows(figures.kinds(dialect, tenant, span, most)):
            counted[date.fromisoformat(day)][_kind(*became)] += count
        for ids in _some(await self._pressed(tenant, span)):
            for day, *became in await self._rows(figures.became(dialect, tenant, span, ids)):
                counted[date.fromisoformat(day)][_kind(*became)] -= 1
                counted[date.fromisoformat(day)]["escalated"] += 1
        return {day: +kinds for day, kinds in counted.items()}

    async def _pressed(self, tenant: str, span: Span) -> Sequence[str]:
        """Return the questions that went to people by the press of a button."""
        rows = await self._rows(figures.handed_over(tenant, span.since, self._questions))
        below = (pressed_below(self._messages.decode(row.message)) for row in rows)
        return [each for each in below if each is not None]

    async def _votes(self, statement: Select[str, str, int]) -> Mapping[date, Counter[str]]:
        counted: defaultdict[date, Counter[str]] = defaultdict(Counter)
        for day, vote, count in await self._rows(statement):
            counted[date.fromisoformat(day)][vote] += count
        return counted

    async def _rows(self, statement: Executable) -> Sequence[Row[*tuple[Any, ...]]]:
        async with self._transactions.reading() as connection:
            return (await connection.execute(statement)).all()


def _kind(answer_type: str, intent: str, handed: bool, unsure: bool) -> QuestionKind:  # noqa: FBT001 - a row
    return kind_of(answer_type, intent, handed=bool(handed), unsure=bool(unsure))


def _some(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))


def _total(counted: Mapping[date, Counter[Any]]) -> int:
    return sum(each.total() for each in counted.values())


def _since_opened(rows: Sequence[Any], step: str) -> Percentiles:
    """Return how long it took until a step; clocks of several servers may differ a little."""
    reached: list[tuple[datetime, datetime]] = [
        (row.opened_at, at) for row in rows if (at := getattr(row, step)) is not None
    ]
    return percentiles_of([max(0.0, (at - opened).total_seconds()) for opened, at in reached])
