"""Record an act on a locked case: its history step, notices, event and audit row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import Act, ActDetail, Actor, Case, CaseStep
from bot.domain.errors import ActRefused
from bot.escalations import lifecycle
from bot.escalations.history import assignee_of, own_reply, standing_reply
from bot.store.case_rows import (
    insert_notice,
    insert_step,
    insert_webhook_event,
    select_next_step_number,
    select_steps,
    settle_notices_to_people,
    step_of,
)
from bot.store.key_values import insert_audit
from bot.store.tables import EscalationStepRow


@dataclass(frozen=True, slots=True)
class ActTaken:
    """An act on a case: its actor, what was sent with it, and whether the actor is the asker."""

    act: Act
    actor: Actor
    text: str
    detail: ActDetail
    is_asker: bool


async def refuse_unsent_words(connection: AsyncConnection, case: Case, taken: ActTaken) -> None:
    """Raise ActRefused if text came with an act that changed nothing, as it was not sent.

    A repetition of the last act with the same text is accepted.
    """
    if not taken.text:
        return
    row = EscalationStepRow
    query = (
        select(row.actor, row.text)
        .where(row.interaction_id == case.interaction_id, row.step == taken.act)
        .order_by(row.number.desc())
        .limit(1)
    )
    last = (await connection.execute(query)).first()
    if last is None or (last.actor, last.text) != (taken.actor.id, taken.text):
        raise ActRefused(
            f"It is {case.status.state} already, so what you wrote was not sent. Look at how it "
            "stands now."
        )


async def is_correction_new(connection: AsyncConnection, case: Case, taken: ActTaken) -> bool:
    """Return whether an act is no correction of a reply, or one that changes the reply.

    Raises ActRefused if it is about no reply of the actor's, or one that was taken back.
    """
    if taken.act not in {"amend", "retract"}:
        return True
    rows = await connection.execute(select_steps(case.tenant, case.interaction_id))
    steps = [step_of(row) for row in rows.all()]
    if not own_reply(steps, taken.detail.about, taken.actor):
        raise ActRefused("That is no reply of yours.")
    said = standing_reply(steps, taken.detail.about)
    if taken.act == "retract":
        return said is not None
    if said is None:
        raise ActRefused("That reply was taken back. Write a new one.")
    return said.text != taken.text


async def record_act(
    connection: AsyncConnection, case: Case, taken: ActTaken, at: datetime
) -> None:
    """Insert the history step, its notices and event and, for an expert, the audit row."""
    key = case.interaction_id
    number = await connection.scalar(select_next_step_number(key)) or 1
    step = CaseStep(key, number, taken.act, taken.actor, taken.text, at, taken.detail)
    await connection.execute(insert_step(case.tenant, step))
    await connection.execute(insert_webhook_event(case, number, at))
    await connection.execute(settle_notices_to_people(key))
    for to in lifecycle.recipients_of(taken.act, is_asker=taken.is_asker):
        await connection.execute(insert_notice(case, number, to, at))
    if taken.actor.role == "expert":
        audited = insert_audit(
            case.tenant, taken.actor.id, taken.act, key, detail=assignee_of(taken.detail)
        )
        await connection.execute(audited)
