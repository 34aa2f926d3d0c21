"""Search questions and feedback, and count feedback and cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Row, Select

from bot.domain.cases import State
from bot.domain.interactions import Outcome
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import Intent, InteractionId, Message
from bot.domain.outcomes import AnswerType, refusal_note
from bot.domain.person_requests import person_request_below
from bot.domain.record_reports import HAND_OVER
from bot.domain.record_search import (
    AskedQuestion,
    CaseCounts,
    Cursor,
    FeedbackCounts,
    FeedbackQuery,
    GivenFeedback,
    QuestionQuery,
    ResultPage,
)
from bot.store import search_queries
from bot.store.connections import Transactions
from bot.store.rows import feedback_of
from bot.store.search_queries import Window

WINDOW_SIZE = 2_000
"""Questions per statement, limited because other operations wait for it on SQLite."""

WINDOWS_PER_PAGE = 25
"""Statements per result page; a page that reaches the limit returns a cursor to continue."""


class StoredSearches:
    """Searches questions and feedback. Implements `bot.domain.record_search.Searches`."""

    def __init__(
        self,
        transactions: Transactions,
        *,
        window: int = WINDOW_SIZE,
        windows: int = WINDOWS_PER_PAGE,
    ) -> None:
        self._transactions = transactions
        self._window = window
        self._windows = windows
        self._messages = Codec(Message)
        self._outcomes = Codec(Outcome)

    async def questions(
        self, tenant: str, query: QuestionQuery, *, limit: int, after: Cursor | None = None
    ) -> ResultPage[AskedQuestion]:
        found: list[Cursor] = []
        place = after
        for _ in range(self._windows):
            window = search_queries.select_window(tenant, query, self._window, place)
            matches, place = await self._look(window, query, limit + 1 - len(found))
            found += matches
            if len(found) > limit:
                place = found[limit - 1]
            if place is None or len(found) > limit:
                break
        return ResultPage(await self._asked(found[:limit]), place)

    async def feedback(
        self, tenant: str, query: FeedbackQuery, *, limit: int, after: Cursor | None = None
    ) -> ResultPage[GivenFeedback]:
        found = await self._rows(search_queries.select_feedback(tenant, query, limit + 1, after))
        given = tuple(map(self._given, found[:limit]))
        return ResultPage(given, _feedback_place(given[-1]) if len(found) > limit else None)

    async def feedback_counts(self, tenant: str, since: datetime) -> FeedbackCounts:
        counted: Counter[tuple[str, str]] = Counter()
        for row in await self._rows(search_queries.count_feedback(tenant, since)):
            counted[row.vote, row.reason or ""] += row.total
        reasons = {reason: count for (vote, reason), count in counted.items() if vote == "down"}
        ups = sum(count for (vote, _), count in counted.items() if vote == "up")
        return FeedbackCounts(ups=ups, downs=sum(reasons.values()), reasons=reasons)

    async def case_counts(self, tenant: str, owner_id: str) -> CaseCounts:
        rows = await self._rows(search_queries.count_cases(tenant, storable(owner_id)))
        states = {cast("State", row.state): int(row.total) for row in rows}
        return CaseCounts(states, own=sum(int(row.own) for row in rows))

    async def _look(
        self, window: Window, query: QuestionQuery, limit: int
    ) -> tuple[list[Cursor], Cursor | None]:
        """Return the matches in a window and the cursor of its end; None if it is the last."""
        async with self._transactions.reading() as connection:
            matches = (
                await connection.execute(search_queries.select_matches(window, query, limit))
            ).all()
            oldest = (await connection.execute(search_queries.select_window_end(window))).first()
        more = oldest is not None and oldest.size == self._window
        end = (
            _question_place(oldest.created_at, oldest.number)
            if oldest is not None and more
            else None
        )
        return [_question_place(at, number) for number, at in matches], end

    async def _asked(self, places: Sequence[Cursor]) -> tuple[AskedQuestion, ...]:
        if not places:
            return ()
        rows = await self._rows(
            search_queries.select_questions([int(place.key[0]) for place in places])
        )
        asked = [(row, self._messages.decode(row.message)) for row in rows]
        below = [person_request_below(message) for _, message in asked]
        states = {
            row.interaction_id: row.state
            for row in await self._rows(search_queries.select_case_states(below))
        }
        return tuple(
            self._question(row, message, row.case or states.get(wish))
            for (row, message), wish in zip(asked, below, strict=True)
        )

    def _given(self, row: Row[Any]) -> GivenFeedback:
        author = self._messages.decode(row.message).author
        return GivenFeedback(
            feedback_of(row),
            row.question or "",
            _answer_type(row.answer_type),
            author.name if author.id == row.person else "",
        )

    def _question(self, row: Row[Any], message: Message, case: State | None) -> AskedQuestion:
        refused = refusal_note(self._outcomes.decode(row.refused)) if row.refused else ""
        return AskedQuestion(
            id=InteractionId(row.id),
            asked_at=row.created_at,
            text=message.text,
            person_id=message.author.id,
            person_name=message.author.name,
            channel=row.channel,
            private=message.private,
            status=row.status,
            answer_type=_answer_type(row.answer_type),
            intent=Intent(row.intent) if row.intent else None,
            confidence=row.confidence,
            level=row.confidence_level or None,
            ups=row.ups,
            downs=row.downs,
            case=case,
            refused=refused,
        )

    async def _rows(self, statement: Select[*tuple[Any, ...]]) -> Sequence[Row[Any]]:
        async with self._transactions.reading() as connection:
            return (await connection.execute(statement)).all()


def _question_place(at: datetime, number: int) -> Cursor:
    return Cursor(at, (str(number),))


def _feedback_place(given: GivenFeedback) -> Cursor:
    feedback = given.feedback
    return Cursor(feedback.given_at, (feedback.interaction_id, feedback.person_id))


def _answer_type(stored: str) -> AnswerType | None:
    if stored == HAND_OVER:
        return "ESCALATION_REQUIRED"
    return cast("AnswerType", stored) if stored else None
