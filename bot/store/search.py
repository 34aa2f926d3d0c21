"""Search questions and feedback within one tenant, and count feedback and cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    Subquery,
    and_,
    case,
    exists,
    func,
    literal,
    not_,
    select,
    tuple_,
)

from bot.domain.cases import State
from bot.domain.handoff import person_request_below
from bot.domain.interactions import Outcome
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import Intent, InteractionId, Message
from bot.domain.outcomes import AnswerType, refusal_note
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
from bot.escalations.lifecycle import OWNED
from bot.store.connections import Transactions
from bot.store.queries import MOST_WORDS, WITHDRAWN, contains
from bot.store.rows import feedback_of
from bot.store.tables import EscalationRow, FeedbackRow, InteractionRow, TurnRow, Utc

WINDOW_SIZE = 2_000
"""Questions per statement, limited because other operations wait for it on SQLite."""

WINDOWS_PER_PAGE = 25
"""Statements per result page; a page that reaches the limit returns a cursor to continue."""


class StoredSearches:
    """Searches questions and feedback, each time within one tenant."""

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
            window = select_window(tenant, query, self._window, place)
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
        found = await self._transactions.rows(select_feedback(tenant, query, limit + 1, after))
        given = tuple(map(self._given, found[:limit]))
        if len(found) <= limit:
            return ResultPage(given, None)
        last = given[-1].feedback
        return ResultPage(given, Cursor(last.given_at, (last.interaction_id, last.person_id)))

    async def feedback_counts(self, tenant: str, since: datetime) -> FeedbackCounts:
        counted: Counter[tuple[str, str]] = Counter()
        for row in await self._transactions.rows(count_feedback(tenant, since)):
            counted[row.vote, row.reason or ""] += row.total
        reasons = {reason: count for (vote, reason), count in counted.items() if vote == "down"}
        ups = sum(count for (vote, _), count in counted.items() if vote == "up")
        return FeedbackCounts(ups=ups, downs=sum(reasons.values()), reasons=reasons)

    async def case_counts(self, tenant: str, owner_id: str) -> CaseCounts:
        rows = await self._transactions.rows(count_cases(tenant, storable(owner_id)))
        states = {cast("State", row.state): int(row.total) for row in rows}
        return CaseCounts(states, own=sum(int(row.own) for row in rows))

    async def _look(
        self, window: Window, query: QuestionQuery, limit: int
    ) -> tuple[list[Cursor], Cursor | None]:
        """Return the matches in a window and the cursor of its end; None if it is the last."""
        async with self._transactions.reading() as connection:
            matches = (await connection.execute(select_matches(window, query, limit))).all()
            oldest = (await connection.execute(select_window_end(window))).first()
        found = [_question_place(at, number) for number, at in matches]
        if oldest is None or oldest.size < self._window:
            return found, None
        return found, _question_place(oldest.created_at, oldest.number)

    async def _asked(self, places: Sequence[Cursor]) -> tuple[AskedQuestion, ...]:
        if not places:
            return ()
        rows = await self._transactions.rows(
            select_questions([int(place.key[0]) for place in places])
        )
        asked = [(row, self._messages.decode(row.message)) for row in rows]
        below = [person_request_below(message) for _, message in asked]
        states = await self._transactions.rows(
            select(EscalationRow.interaction_id, EscalationRow.state).where(
                EscalationRow.interaction_id.in_(below)
            )
        )
        state_of = {row.interaction_id: row.state for row in states}
        return tuple(
            self._question(row, message, row.case or state_of.get(wish))
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


def _question_place(at: datetime, number: int) -> Cursor:
    return Cursor(at, (str(number),))


def _answer_type(stored: str) -> AnswerType | None:
    if stored == HAND_OVER:
        return "ESCALATION_REQUIRED"
    return cast("AnswerType", stored) if stored else None


Window = Subquery
"""A run of a tenant's questions, newest first, with the columns of the covering index."""


def select_window(tenant: str, query: QuestionQuery, size: int, after: Cursor | None) -> Window:
    """Return the next ``size`` questions in the query's span and of its person.

    The other conditions are applied by `select_matches`.
    """
    row = InteractionRow
    statement = (
        select(
            row.number,
            row.created_at,
            row.id,
            row.status,
            row.intent,
            row.answer_type,
            row.confidence,
            row.confidence_level,
            row.channel,
        )
        .where(row.tenant == tenant, *_span_conditions(query))
        .order_by(row.created_at.desc(), row.number.desc())
        .limit(size)
    )
    if after is not None:
        place = (literal(after.at, Utc()), literal(int(after.key[0])))
        statement = statement.where(tuple_(row.created_at, row.number) < tuple_(*place))
    return statement.subquery("looked_at")


def select_matches(window: Window, query: QuestionQuery, limit: int) -> Select[int, datetime]:
    """Return the query for the questions of a window that match, newest first."""
    return (
        select(window.c.number, window.c.created_at)
        .where(
            window.c.status.not_in(WITHDRAWN),
            window.c.answer_type != HAND_OVER,
            *_kind_conditions(window, query),
            *_word_conditions(window, query),
        )
        .order_by(window.c.created_at.desc(), window.c.number.desc())
        .limit(limit)
    )


def select_window_end(window: Window) -> Select[datetime, int, int]:
    """Return the query for the oldest question of a window and the window's size."""
    return (
        select(window.c.created_at, window.c.number, func.count().over().label("size"))
        .order_by(window.c.created_at, window.c.number)
        .limit(1)
    )


def select_questions(numbers: Sequence[int]) -> Select[*tuple[Any, ...]]:
    """Return the query for the columns of questions to list, newest first."""
    row = InteractionRow
    state = select(EscalationRow.state).where(EscalationRow.interaction_id == row.id)
    return (
        select(
            row.id,
            row.created_at,
            row.channel,
            row.message,
            row.status,
            row.intent,
            row.answer_type,
            row.confidence,
            row.confidence_level,
            case((_was_refused(row), row.outcome)).label("refused"),
            _vote_count("up").label("ups"),
            _vote_count("down").label("downs"),
            state.scalar_subquery().label("case"),
        )
        .where(row.number.in_(numbers))
        .order_by(row.created_at.desc(), row.number.desc())
    )


def select_feedback(
    tenant: str, query: FeedbackQuery, limit: int, after: Cursor | None
) -> Select[*tuple[Any, ...]]:
    """Return the query for feedback with the rated question, newest first."""
    row = FeedbackRow
    key = (row.given_at, row.interaction_id, row.person)
    statement = (
        select(
            row, TurnRow.text.label("question"), InteractionRow.answer_type, InteractionRow.message
        )
        .join(InteractionRow, InteractionRow.id == row.interaction_id)
        .join(
            TurnRow,
            and_(TurnRow.interaction_id == row.interaction_id, TurnRow.role == "user"),
            isouter=True,
        )
        .where(row.tenant == tenant, *_feedback_conditions(query))
        .order_by(*(column.desc() for column in key))
        .limit(limit)
    )
    if after is None:
        return statement
    place = (literal(after.at, Utc()), *(literal(storable(part)) for part in after.key))
    return statement.where(tuple_(*key) < tuple_(*place))


def count_feedback(tenant: str, since: datetime) -> Select[str, str | None, int]:
    """Return the query that counts feedback by vote and reason."""
    row = FeedbackRow
    return (
        select(row.vote, row.reason, func.count().label("total"))
        .where(row.tenant == tenant, row.given_at >= since)
        .group_by(row.vote, row.reason)
    )


def count_cases(tenant: str, owner_id: str) -> Select[str, int, int]:
    """Return the query that counts cases by state, and those of them owned by ``owner_id``.

    What joined another case is one with it.
    """
    row = EscalationRow
    own = case((and_(row.state.in_(OWNED), row.owner == owner_id), 1), else_=0)
    return (
        select(row.state, func.count().label("total"), func.sum(own).label("own"))
        .where(row.tenant == tenant, row.joined_to.is_(None))
        .group_by(row.state)
    )


def _span_conditions(query: QuestionQuery) -> list[ColumnElement[bool]]:
    row = InteractionRow
    bounds: list[ColumnElement[bool]] = []
    if query.person_id:
        bounds.append(row.person == storable(query.person_id))
    if query.since is not None:
        bounds.append(row.created_at >= query.since)
    if query.until is not None:
        bounds.append(row.created_at < query.until)
    return bounds


def _kind_conditions(window: Window, query: QuestionQuery) -> list[ColumnElement[bool]]:
    kinds: list[ColumnElement[bool]] = []
    if query.answer_type is not None:
        kinds.append(window.c.answer_type == query.answer_type)
    if query.refused is not None:
        refused = _was_refused(window.c)
        kinds.append(refused if query.refused else not_(refused))
    if query.level is not None:
        kinds.append(window.c.confidence_level == query.level)
    if query.intent is not None:
        kinds.append(window.c.intent == query.intent.value)
    if query.platform:
        prefix = f"{storable(query.platform)}:"
        kinds.append(window.c.channel.startswith(prefix, autoescape=True))
    if query.least is not None:
        kinds.append(window.c.confidence >= query.least)
    if query.most is not None:
        kinds.append(window.c.confidence <= query.most)
    return kinds


def _word_conditions(window: Window, query: QuestionQuery) -> list[ColumnElement[bool]]:
    said: list[ColumnElement[bool]] = []
    if words := storable(query.words).split()[:MOST_WORDS]:
        own = (TurnRow.interaction_id == window.c.id, TurnRow.role == "user")
        said.append(exists().where(*own, *(contains(TurnRow.text, word) for word in words)))
    judged = FeedbackRow.interaction_id == window.c.id
    if query.vote == "none":
        said.append(not_(exists().where(judged)))
    elif query.vote is not None:
        said.append(exists().where(judged, FeedbackRow.vote == query.vote))
    return said


def _was_refused(row: Any) -> ColumnElement[bool]:  # noqa: ANN401 - a table's row, or a window's
    """Return the condition that a message was refused, as in bot.domain.record_reports.kind_of."""
    return and_(row.answer_type == "GENERIC", row.intent == Intent.UNKNOWN.value)


def _feedback_conditions(query: FeedbackQuery) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = []
    if query.vote is not None:
        wanted.append(FeedbackRow.vote == query.vote)
    if query.reason is not None:
        wanted.append(FeedbackRow.reason == query.reason)
    if query.commented:
        wanted.append(FeedbackRow.comment.is_not(None))
    return wanted


def _vote_count(vote: str) -> ColumnElement[int]:
    return (
        select(func.count())
        .where(FeedbackRow.interaction_id == InteractionRow.id, FeedbackRow.vote == vote)
        .scalar_subquery()
    )
