"""Convert domain values to database rows and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVarTuple

from sqlalchemy import Row, Select, bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import (
    Claim,
    Escalation,
    EscalationReason,
    Feedback,
    Interaction,
    Outcome,
    PostedRef,
    Reply,
)
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import Activity, InteractionId, Message, Person, Thread
from bot.domain.outcomes import answer_type, confidence_level, goes_to_people, is_draft
from bot.escalations.lifecycle import ReminderSchedule
from bot.store.tables import InteractionRow
from rag.types import ModelCall

Columns = TypeVarTuple("Columns")

MICROS_PER_DOLLAR = 1_000_000


class Rows:
    """Encodes and decodes the columns of an interaction."""

    def __init__(self) -> None:
        self._messages = Codec(Message)
        self._outcomes = Codec(Outcome)

    def message(self, message: Message) -> str:
        return self._messages.encode(message)

    def outcome(self, outcome: Outcome) -> dict[str, object]:
        """Return the columns of an outcome: its JSON, and the values to search by."""
        return {
            "outcome": self._outcomes.encode(outcome),
            "intent": outcome.trace.route.intent.value,
            "answer_type": answer_type(outcome),
            "confidence": outcome.response.confidence,
            "confidence_level": confidence_level(outcome) or "",
        }

    def interaction(self, row: Row[Any]) -> Interaction:
        return Interaction(
            id=InteractionId(row.id),
            message=self._messages.decode(row.message),
            status=row.status,
            created_at=row.created_at,
            outcome=None if row.outcome is None else self._outcomes.decode(row.outcome),
            posted=posted_ref_of(row.posted_channel, row.posted_id),
            finished_at=row.finished_at,
            number=row.number,
            revision=row.revision,
            attempts=row.attempts,
            posting=row.posting,
            placeholder=posted_ref_of(row.placeholder_channel, row.placeholder_id),
            failure=row.failure,
            claim=None if row.owner is None else Claim(row.owner, row.epoch),
        )

    async def locked(self, connection: AsyncConnection, interaction_id: str) -> Interaction:
        """Lock an interaction until the transaction ends, and return it.

        Raises InteractionUnknown.
        """
        values = {"interaction": storable(interaction_id)}
        row = (await connection.execute(select_by_id(locked=True), values)).first()
        return self.known(interaction_id, row)

    def known(self, interaction_id: str, row: Row[Any] | None) -> Interaction:
        """Return the interaction in a row. Raises InteractionUnknown if there is none."""
        return self.interaction(known_row(interaction_id, row))

    def opened(self, message: Message, owner: str | None) -> dict[str, object]:
        """Return the row of a new interaction, claimed by ``owner``, if any."""
        return {
            "id": message.interaction_id,
            "tenant": message.thread.tenant,
            "thread": message.thread.key,
            "channel": channel_of(message.thread),
            "person": storable(message.author.id),
            "status": "working",
            "message": self.message(message),
            "created_at": utc_now(),
            "owner": owner,
            "epoch": 1,
        }


@cache
def select_by_id(*, locked: bool = False) -> Select[InteractionRow]:
    """Return the query for the interaction with the id ``interaction``, perhaps locking it."""
    query = select(InteractionRow).where(InteractionRow.id == bindparam("interaction"))
    return query.with_for_update() if locked else query


def known_row(interaction_id: str, row: Row[*Columns] | None) -> Row[*Columns]:
    """Return the row of an interaction. Raises InteractionUnknown if there is none."""
    if row is None:
        raise InteractionUnknown(
            f"There is no interaction {interaction_id!r}. Use the id that the question's "
            "answer came with."
        )
    return row


def channel_of(thread: Thread) -> str:
    """Return the channel's name, unique across platforms: ``platform:channel``."""
    return storable(f"{thread.platform}:{thread.channel}")


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def reply_columns(posted: PostedRef | None, *, posting: bool) -> Mapping[str, object]:
    """Return the columns of a reply that is to be posted, or is ``posted`` by being recorded."""
    if posted is None:
        return {"posting": posting}
    return {
        "posting": False,
        "posted_channel": storable(posted.channel),
        "posted_id": storable(posted.id),
    }


def conversation_row(message: Message) -> dict[str, object]:
    """Return the conversation row of a message's thread."""
    now = utc_now()
    return {
        "tenant": message.thread.tenant,
        "thread": message.thread.key,
        "channel": channel_of(message.thread),
        "private": message.private,
        "started_at": now,
        "last_at": now,
    }


def turn_rows(message: Message, outcome: Outcome) -> list[dict[str, object]]:
    """Return the turn rows of a question and its answer; none if the bot stayed silent."""
    said = (("user", message.text), ("assistant", outcome.response.text))
    return [
        {
            "tenant": message.thread.tenant,
            "thread": message.thread.key,
            "interaction_id": message.interaction_id,
            "role": role,
            "text": storable(text),
        }
        for role, text in (() if outcome.silent else said)
    ]


def progress_rows(
    interaction_id: InteractionId, tenant: str, activities: Sequence[Activity]
) -> list[dict[str, object]]:
    """Return a progress row for each activity, to be numbered (queries.append_stage)."""
    at = utc_now()
    return [
        {
            "interaction_id": interaction_id,
            "of": interaction_id,
            "tenant": tenant,
            "stage": activity.stage.value,
            "pages": activity.pages,
            "at": at,
        }
        for activity in activities
    ]


def usage_rows(message: Message, outcome: Outcome) -> list[dict[str, object]]:
    """Return a usage row for each model call of an outcome."""
    asked = {"channel": channel_of(message.thread), "person": storable(message.author.id)}
    rows = call_rows(message.thread.tenant, message.interaction_id, outcome.trace.calls)
    return [{**each, **asked} for each in rows]


def call_rows(
    tenant: str, interaction_id: InteractionId, calls: Sequence[ModelCall], *, after: int = 0
) -> list[dict[str, object]]:
    """Return the columns of usage that model calls have, numbered from ``after`` + 1."""
    return [
        {
            "tenant": tenant,
            "interaction_id": interaction_id,
            "sequence": sequence,
            "at": utc_now(),
            "purpose": call.purpose,
            "model": storable(call.model),
            "input_tokens": call.input_tokens,
            "output_tokens": call.output_tokens,
            "cost_usd": None
            if call.cost_micro_usd is None
            else call.cost_micro_usd / MICROS_PER_DOLLAR,
        }
        for sequence, call in enumerate(calls, start=after + 1)
    ]


def escalation_row(
    message: Message, outcome: Outcome, reminders: ReminderSchedule
) -> dict[str, object] | None:
    """Return the row of the escalation in an outcome, open for the experts.

    None if the outcome is not an escalation, is silent, or needs the asker's consent first.
    """
    response = outcome.response
    if not isinstance(response, Escalation) or response.consent_needed or outcome.silent:
        return None
    return _opened_row(message, response.reason, response.question, reminders)


def undelivered_row(given_up: Interaction, reminders: ReminderSchedule) -> dict[str, object] | None:
    """Return the escalation row for an answer that can't be posted; None if none is needed."""
    message, outcome = given_up.message, given_up.outcome
    if outcome is None or not goes_to_people(message, outcome):
        return None
    # As written: the search query may contain words of another person.
    question = message.text or outcome.trace.route.question
    return _opened_row(message, "undelivered", question, reminders)


def opening_notice_row(escalation: Mapping[str, object]) -> dict[str, object]:
    """Return the notice to the experts about a new escalation, from its row."""
    return {
        "interaction_id": escalation["interaction_id"],
        "number": 1,
        "to": "people",
        "tenant": escalation["tenant"],
        "due_at": escalation["opened_at"],
    }


def _opened_row(
    message: Message, reason: EscalationReason, question: str, reminders: ReminderSchedule
) -> dict[str, object]:
    now = utc_now()
    return {
        "interaction_id": message.interaction_id,
        "tenant": message.thread.tenant,
        "state": "open",
        "reason": reason,
        "question": storable(question),
        "asker": storable(message.author.id),
        "asker_name": storable(message.author.name),
        "private": message.private,
        "opened_at": now,
        "changed_at": now,
        "due_at": reminders.due(now),
    }


def opening_row(escalation: Mapping[str, object]) -> dict[str, object]:
    """Return the first history entry of an escalation, from its row."""
    return {
        "interaction_id": escalation["interaction_id"],
        "number": 1,
        "tenant": escalation["tenant"],
        "step": "open",
        "actor": escalation["asker"],
        "actor_name": escalation["asker_name"],
        "actor_role": "asker",
        "at": escalation["opened_at"],
    }


def opening_event_row(escalation: Mapping[str, object]) -> dict[str, object]:
    """Return the webhook's event of an opened escalation, from its row."""
    at = escalation["opened_at"]
    return {
        "interaction_id": escalation["interaction_id"],
        "number": 1,
        "tenant": escalation["tenant"],
        "state": escalation["state"],
        "at": at,
        "queued_at": at,
        "due_at": at,
    }


def draft_row(message: Message, outcome: Outcome) -> dict[str, object]:
    """Return the row of a question that was asked where the bot only practises."""
    response, drafted, now = outcome.response, is_draft(outcome), utc_now()
    cited = response.sources if isinstance(response, Reply) and drafted else ()
    return {
        "interaction_id": message.interaction_id,
        "tenant": message.thread.tenant,
        "channel": channel_of(message.thread),
        "at": now,
        "drafted": drafted,
        "space": storable(cited[0].space) if cited else "",
        "due_at": now if drafted else None,
    }


def posted_ref_of(channel: str | None, ref_id: str | None) -> PostedRef | None:
    """Return the reference of a post from its columns; None if it was not posted."""
    return None if channel is None or ref_id is None else PostedRef(channel, ref_id)


def feedback_of(row: Row[Any]) -> Feedback:
    """Return the feedback in a row."""
    return Feedback(
        interaction_id=InteractionId(row.interaction_id),
        person_id=row.person,
        vote=row.vote,
        given_at=row.given_at,
        rating=row.rating,
        reason=row.reason,
        comment=row.comment,
    )


def storable_message(message: Message, outcome: Outcome) -> Message:
    """Return a message to store: with the resolved author, and files without their location."""
    files = tuple(replace(each, place="") for each in message.attachments)
    return replace(message, author=outcome.asker or message.author, attachments=files)


def without_words(message: Message) -> Message:
    """Return a message without text, files and names; only the author's id is kept."""
    return replace(message, text="", attachments=(), author=Person(message.author.id))
