"""Stores to read interactions and conversations, rate answers, and list recent askers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import unquote

from sqlalchemy import ColumnElement, Row, Select, and_, delete, func, or_, select, tuple_

from bot.domain.interactions import Feedback, Interaction, PostedRef
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import (
    Activity,
    InteractionId,
    Message,
    Person,
    Platform,
    Stage,
    Thread,
)
from bot.domain.record_search import FoundQuestion, InteractionGlance, ThreadSummary
from bot.store import queries
from bot.store.connections import Transactions, Values
from bot.store.queries import MOST_WORDS, not_withdrawn
from bot.store.rows import Rows, channel_of, feedback_of
from bot.store.saved_answers import drop_answer
from bot.store.tables import (
    ConversationRow,
    EscalationRow,
    FeedbackRow,
    InteractionRow,
    ProgressRow,
    TurnRow,
)


class StoredInteractions:
    """Reads interactions and stores feedback. Implements `bot.domain.ports.Interactions`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._rows = Rows()

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        return await self._first(*queries.select_interaction(interaction_id))

    async def find_posted(self, tenant: str, ref: PostedRef) -> Interaction | None:
        return await self._first(queries.select_posted_at(tenant, ref))

    async def newest_of(
        self, tenant: str, platform: Platform, channel: str, person_id: str
    ) -> Interaction | None:
        """Return a person's newest interaction with an outcome in a channel."""
        return await self._first(
            *queries.select_newest_of(Thread(platform, tenant, channel, ""), person_id)
        )

    async def in_thread(
        self, thread: Thread, limit: int, before: int | None = None
    ) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first; withdrawn ones left out.

        With ``before``, only those with a lower number. Urgent: somebody's page waits for them, or
        an event that is not acknowledged yet.
        """
        found = queries.select_in_thread(thread, limit, before)
        return await self._oldest_first(found, urgent=True)

    async def answered(self, tenant: str, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a tenant that have an outcome, oldest first."""
        return await self._oldest_first(queries.select_answered(tenant, limit))

    async def history(self, thread: Thread, before: Message, limit: int) -> Sequence[Interaction]:
        return await self._oldest_first(
            *queries.select_history(thread, before.interaction_id, limit)
        )

    async def stages(self, interaction_id: InteractionId, after: int = 0) -> Sequence[Activity]:
        found = queries.select_stages(interaction_id, after)
        rows = await self._transactions.rows(found, urgent=True)
        return [Activity(Stage(stage), pages) for stage, pages in rows]

    async def rate(self, feedback: Feedback) -> None:
        """Store feedback, replacing the person's earlier one; a thumb down drops a saved answer.

        Raises InteractionUnknown.
        """
        async with self._transactions.writing() as connection:
            rated = await self._rows.locked(connection, feedback.interaction_id)
            row = {**_feedback_row(feedback), "tenant": rated.message.thread.tenant}
            await connection.execute(
                queries.upsert(
                    self._transactions.dialect, FeedbackRow, row, key=("interaction_id", "person")
                )
            )
            drop = drop_answer(rated.outcome) if feedback.vote == "down" else None
            if drop is not None:
                await connection.execute(drop)

    async def unrate(self, interaction_id: InteractionId, person_id: str) -> None:
        await self._transactions.execute(
            delete(FeedbackRow).where(
                FeedbackRow.interaction_id == interaction_id,
                FeedbackRow.person == storable(person_id),
            )
        )

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]:
        rows = await self._transactions.rows(queries.select_feedback(interaction_id))
        return [feedback_of(row) for row in rows]

    async def _first(
        self, statement: Select[InteractionRow], values: Values = None
    ) -> Interaction | None:
        row = await self._transactions.first(statement, values, urgent=True)
        return None if row is None else self._rows.interaction(row)

    async def _oldest_first(
        self, newest_first: Select[InteractionRow], values: Values = None, *, urgent: bool = False
    ) -> Sequence[Interaction]:
        rows = await self._transactions.rows(newest_first, values, urgent=urgent)
        return [self._rows.interaction(row) for row in reversed(rows)]


def _feedback_row(feedback: Feedback) -> dict[str, object]:
    return {
        "interaction_id": feedback.interaction_id,
        "person": storable(feedback.person_id),
        "vote": feedback.vote,
        "rating": feedback.rating,
        "reason": feedback.reason,
        "comment": None if feedback.comment is None else storable(feedback.comment),
        "given_at": feedback.given_at,
    }


class StoredAskers:
    """Lists people who asked recently, without what they asked."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._messages = Codec(Message)

    async def emails(self, tenant: str, since: datetime, most: int) -> Sequence[str]:
        """Return the distinct e-mail addresses of the latest askers since a time, if known."""
        authors = await self._authors(tenant, since, most)
        return list(dict.fromkeys(one.email.casefold() for one in authors if one.email))

    async def names(self, tenant: str, since: datetime, most: int) -> Sequence[str]:
        """Return the names of the latest askers since a time, as their platforms show them."""
        authors = await self._authors(tenant, since, most)
        return list(dict.fromkeys(one.name for one in authors if one.name))

    async def _authors(self, tenant: str, since: datetime, most: int) -> Sequence[Person]:
        found = await self._transactions.scalars(select_newest_of_each_person(tenant, since, most))
        return [self._messages.decode(text).author for text in found]


def select_newest_of_each_person(tenant: str, since: datetime, most: int) -> Select[str]:
    """Return the query for each person's newest message since a time, latest first."""
    newest = (
        select(func.max(InteractionRow.number))
        .where(
            InteractionRow.tenant == tenant,
            InteractionRow.created_at >= since,
            not_withdrawn(),
        )
        .group_by(InteractionRow.person)
    )
    return (
        select(InteractionRow.message)
        .where(InteractionRow.number.in_(newest))
        .order_by(InteractionRow.number.desc())
        .limit(most)
    )


class StoredThreads:
    """Lists the conversations of one person's private channel, without withdrawn questions.

    ``place`` is any thread of the channel: only its platform, tenant and channel are used.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._messages = Codec(Message)

    async def newest(
        self, place: Thread, limit: int, after: str | None = None
    ) -> Sequence[ThreadSummary]:
        """Return conversations by last message, newest first.

        ``after`` is the id of the last thread of the previous page.
        """
        rows = await self._transactions.rows(select_threads(place, limit, after))
        first = [(self._messages.decode(message), last_at) for message, last_at in rows]
        return [
            ThreadSummary(message.thread.id, message.asked, last_at, message.interaction_id)
            for message, last_at in first
        ]

    async def matching(
        self, place: Thread, words: str, limit: int, after: str | None = None
    ) -> Sequence[FoundQuestion]:
        """Return the answered questions that contain all words, newest first.

        ``after`` is the id of the last question of the previous page.
        """
        if not words.split():
            return []
        rows = await self._transactions.rows(select_matching_questions(place, words, limit, after))
        return [
            FoundQuestion(InteractionId(each), _thread_id(key), text, at)
            for each, key, text, at in rows
        ]

    async def questions(self, thread: Thread) -> Sequence[InteractionId]:
        """Return the ids of a conversation's questions, oldest first."""
        found = await self._transactions.scalars(select_question_ids(thread))
        return [InteractionId(each) for each in found]


def select_threads(place: Thread, limit: int, after: str | None) -> Select[str, datetime]:
    """Return the query for each conversation's first message and last message time."""
    thread, asked = ConversationRow, InteractionRow
    first = (
        select(func.min(asked.number))
        .where(asked.tenant == thread.tenant, asked.thread == thread.thread, not_withdrawn())
        .correlate(thread)
        .scalar_subquery()
    )
    statement = (
        select(asked.message, thread.last_at)
        .join_from(thread, asked, asked.number == first)
        .where(thread.tenant == place.tenant, thread.channel == channel_of(place))
        .order_by(thread.last_at.desc(), thread.thread.desc())
        .limit(limit)
    )
    return statement if after is None else statement.where(_before_thread(place, after))


def select_matching_questions(
    place: Thread, words: str, limit: int, after: str | None
) -> Select[str, str, str, datetime]:
    """Return the query for a channel's answered questions that contain all words."""
    asked = InteractionRow
    statement = (
        select(asked.id, asked.thread, TurnRow.text, asked.created_at)
        .join(TurnRow, TurnRow.interaction_id == asked.id)
        .where(
            asked.tenant == place.tenant,
            asked.channel == channel_of(place),
            not_withdrawn(),
            TurnRow.role == "user",
            *(_contains_word(word) for word in words.split()[:MOST_WORDS]),
        )
        .order_by(asked.created_at.desc(), asked.number.desc())
        .limit(limit)
    )
    return statement if after is None else statement.where(_before_question(place, after))


def select_question_ids(thread: Thread) -> Select[str]:
    """Return the query for the ids of a conversation's questions, oldest first."""
    asked = InteractionRow
    return (
        select(asked.id)
        .where(asked.tenant == thread.tenant, asked.thread == thread.key, not_withdrawn())
        .order_by(asked.number)
    )


def _contains_word(word: str) -> ColumnElement[bool]:
    """Return the condition that a question contains a word, case-insensitively.

    SQLite folds the case of ASCII letters only, so the usual spellings are searched. Also for
    ASCII: with a single one, PostgreSQL's planner reads the whole table of turns.
    """
    given = storable(word)
    spellings = sorted({given, given.lower(), given.upper(), given.capitalize()})
    return or_(*(TurnRow.text.icontains(each, autoescape=True) for each in spellings))


def _before_thread(place: Thread, thread_id: str) -> ColumnElement[bool]:
    row, last = ConversationRow, ConversationRow.__table__.alias("last")
    key = Thread(place.platform, place.tenant, place.channel, thread_id).key
    at = (
        select(last.c.last_at)
        .where(last.c.tenant == place.tenant, last.c.thread == key)
        .scalar_subquery()
    )
    return and_(row.last_at <= at, tuple_(row.last_at, row.thread) < tuple_(at, key))


def _before_question(place: Thread, interaction_id: str) -> ColumnElement[bool]:
    row, last = InteractionRow, InteractionRow.__table__.alias("last")
    own = (last.c.id == storable(interaction_id), last.c.channel == channel_of(place))
    at = select(last.c.created_at).where(*own).scalar_subquery()
    number = select(last.c.number).where(*own).scalar_subquery()
    return and_(row.created_at <= at, tuple_(row.created_at, row.number) < tuple_(at, number))


def _thread_id(key: str) -> str:
    return unquote(key.rpartition(":")[2])


class StoredGlances:
    """Reads the status of a thread's questions. Implements `bot.domain.record_search.Watches`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def thread(self, thread: Thread, limit: int) -> Sequence[InteractionGlance]:
        newest_first = await self._transactions.rows(select_glances(thread, limit))
        return [_glance_of(row) for row in reversed(newest_first)]


def select_glances(thread: Thread, limit: int) -> Select[str, str, str, int, str, int]:
    """Return the query for a thread's last questions with last stage and case, newest first."""
    latest = (
        select(func.max(ProgressRow.sequence))
        .where(ProgressRow.interaction_id == InteractionRow.id)
        .correlate(InteractionRow)
        .scalar_subquery()
    )
    return (
        select(
            InteractionRow.id,
            InteractionRow.status,
            ProgressRow.stage,
            ProgressRow.pages,
            EscalationRow.state,
            EscalationRow.version,
        )
        .select_from(InteractionRow)
        .outerjoin(
            ProgressRow,
            (ProgressRow.interaction_id == InteractionRow.id) & (ProgressRow.sequence == latest),
        )
        .outerjoin(
            EscalationRow,
            (EscalationRow.interaction_id == InteractionRow.id) & not_withdrawn(),
        )
        .where(InteractionRow.tenant == thread.tenant, InteractionRow.thread == thread.key)
        .order_by(InteractionRow.number.desc())
        .limit(limit)
    )


def _glance_of(row: Row[str, str, str, int, str, int]) -> InteractionGlance:
    return InteractionGlance(
        id=InteractionId(row.id),
        status=row.status,
        stage=None if row.stage is None else Stage(row.stage),
        pages=row.pages or 0,
        case_state=row.state,
        case_version=row.version or 0,
    )
