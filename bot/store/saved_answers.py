"""Store which recorded answers are given again to later askers of the same question.

The answer itself is in the record of the question that it was composed for, so that it goes with
it: by retention, withdrawal or the deletion of a person.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Delete, Insert, Select, delete, select

from bot.answering.answer_cache import SavedAnswer
from bot.domain.interactions import Outcome
from bot.domain.json_codec import Codec
from bot.domain.messages import Message
from bot.store.connections import Transactions
from bot.store.queries import not_withdrawn, upsert
from bot.store.tables import InteractionRow, SavedAnswerRow


class StoredSavedAnswers:
    """Finds saved answers. Implements bot.answering.answer_cache.SavedAnswers.

    They are written by StoredWork with the outcome, and dropped by StoredInteractions with a thumb
    down.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._outcomes = Codec(Outcome)

    async def find(self, tenant: str, key: str, since: datetime) -> SavedAnswer | None:
        row = await self._transactions.first(select_saved(tenant, key, since), urgent=True)
        if row is None or row.outcome is None:
            return None
        outcome = self._outcomes.decode(row.outcome)
        saved = outcome.trace.cache is not None and outcome.trace.cache.key == key
        return SavedAnswer(outcome, row.answered_at) if saved else None


def select_saved(tenant: str, key: str, since: datetime) -> Select[str | None, datetime]:
    """Return the query for the outcome saved under a key after ``since``, and its time."""
    return (
        select(InteractionRow.outcome, SavedAnswerRow.answered_at)
        .join(InteractionRow, InteractionRow.id == SavedAnswerRow.interaction_id)
        .where(
            SavedAnswerRow.key == key,
            SavedAnswerRow.tenant == tenant,
            SavedAnswerRow.answered_at > since,
            InteractionRow.tenant == tenant,
            not_withdrawn(),
        )
    )


def save_answer(dialect: str, message: Message, outcome: Outcome) -> Insert | None:
    """Return the statement that saves an outcome's answer; None if it is not for others."""
    used = outcome.trace.cache
    if used is None or used.result != "saved":
        return None
    row = {
        "key": used.key,
        "tenant": message.thread.tenant,
        "interaction_id": message.interaction_id,
        "answered_at": used.answered_at,
    }
    return upsert(dialect, SavedAnswerRow, row, key=("key",))


def drop_answer(outcome: Outcome | None) -> Delete | None:
    """Return the statement that drops the answer which an outcome saved or gave; None for none."""
    used = None if outcome is None else outcome.trace.cache
    return None if used is None else delete(SavedAnswerRow).where(SavedAnswerRow.key == used.key)


def drop_older_answers(before: datetime) -> Delete:
    """Return the statement that drops the answers composed before a time."""
    return delete(SavedAnswerRow).where(SavedAnswerRow.answered_at < before)
