"""List conversations of a tenant or of one person's channel, and the status of one.

One person's are listed without reading others' questions, the status without reading any text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import unquote

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select, tuple_

from bot.domain.json_codec import Codec, storable
from bot.domain.messages import InteractionId, Message, Stage, Thread
from bot.domain.record_reports import ConversationRecord
from bot.domain.record_search import FoundQuestion, InteractionGlance, ThreadSummary
from bot.store.connections import Transactions
from bot.store.rows import channel_of
from bot.store.tables import ConversationRow, EscalationRow, InteractionRow, ProgressRow, TurnRow


class StoredConversations:
    """Lists the conversations of a tenant; their rows are written by StoredWork."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def newest(
        self, tenant: str, limit: int, after: ConversationRecord | None = None
    ) -> Sequence[ConversationRecord]:
        """Return conversations by last message, newest first; ``after`` ended the previous page."""
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(select_conversations(tenant, limit, after))).all()
        return [ConversationRecord(*row) for row in rows]


def select_conversations(
    tenant: str, limit: int, after: ConversationRecord | None
) -> Select[str, str, str, bool, datetime, datetime]:
    """Return the query for the conversations of a tenant, by last message, newest first."""
    row = ConversationRow
    statement = (
        select(row.tenant, row.thread, row.channel, row.private, row.started_at, row.last_at)
        .where(row.tenant == tenant)
        .order_by(row.last_at.desc(), row.thread.desc())
        .limit(limit)
    )
    if after is None:
        return statement
    return statement.where(tuple_(row.last_at, row.thread) < (after.last_at, after.thread))


_WITHDRAWN = ("cancelling", "cancelled")
_MOST_WORDS = 8


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
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(select_threads(place, limit, after))).all()
        return [self._summary(*row) for row in rows]

    async def matching(
        self, place: Thread, words: str, limit: int, after: str | None = None
    ) -> Sequence[FoundQuestion]:
        """Return the answered questions that contain all words, newest first.

        ``after`` is the id of the last question of the previous page.
        """
        if not words.split():
            return []
        async with self._transactions.reading() as connection:
            rows = (
                await connection.execute(select_matching_questions(place, words, limit, after))
            ).all()
        return [
            FoundQuestion(InteractionId(each), _thread_id(key), text, at)
            for each, key, text, at in rows
        ]

    async def questions(self, thread: Thread) -> Sequence[InteractionId]:
        """Return the ids of a conversation's questions, oldest first."""
        async with self._transactions.reading() as connection:
            return [
                InteractionId(each)
                for each in await connection.scalars(select_question_ids(thread))
            ]

    def _summary(self, message: str, last_at: datetime) -> ThreadSummary:
        first = self._messages.decode(message)
        return ThreadSummary(first.thread.id, first.text, last_at, first.interaction_id)


def select_threads(place: Thread, limit: int, after: str | None) -> Select[str, datetime]:
    """Return the query for each conversation's first message and last message time."""
    thread, asked = ConversationRow, InteractionRow
    first = (
        select(func.min(asked.number))
        .where(asked.tenant == thread.tenant, asked.thread == thread.thread, _not_withdrawn())
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
            _not_withdrawn(),
            TurnRow.role == "user",
            *(_contains_word(word) for word in words.split()[:_MOST_WORDS]),
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
        .where(asked.tenant == thread.tenant, asked.thread == thread.key, _not_withdrawn())
        .order_by(asked.number)
    )


def _not_withdrawn() -> ColumnElement[bool]:
    return InteractionRow.status.not_in(_WITHDRAWN)


def _contains_word(word: str) -> ColumnElement[bool]:
    """Return the condition that a question contains a word, case-insensitively.

    SQLite folds the case of ASCII letters only, so the usual spellings are searched.
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
        async with self._transactions.reading() as connection:
            newest_first = (await connection.execute(select_glances(thread, limit))).all()
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
            (EscalationRow.interaction_id == InteractionRow.id)
            & InteractionRow.status.not_in(("cancelling", "cancelled")),
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
