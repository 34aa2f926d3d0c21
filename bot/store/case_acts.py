"""Record an act on a locked case: its history step, notices, event and audit row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import Act, ActDetail, Actor, Case, CaseStatus, CaseStep
from bot.domain.errors import ActRefused
from bot.domain.texts import tr
from bot.escalations import lifecycle, showing_more
from bot.escalations.history import own_reply, standing_replies, standing_reply
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
            tr(
                "The case has changed in the meantime, so your text was not sent. Check its "
                "current state."
            )
        )


async def status_after_correction(
    connection: AsyncConnection, case: Case, taken: ActTaken, then: CaseStatus
) -> CaseStatus | None:
    """Return the status after an act that may correct a reply; None if it changes no reply.

    ``then`` is the status by the act alone: a case stays answered while another reply of the actor
    stands. Raises ActRefused if the act is about no reply of theirs, or one that was taken back.
    """
    if taken.act not in {"amend", "retract"}:
        return then
    rows = await connection.execute(select_steps(case.tenant, case.interaction_id))
    steps = [step_of(row) for row in rows.all()]
    if not own_reply(steps, taken.detail.about, taken.actor):
        raise ActRefused(tr("That is not one of your replies."))
    said = standing_reply(steps, taken.detail.about)
    if taken.act == "retract":
        return None if said is None else _after_retraction(case, taken, steps, then)
    if said is None:
        raise ActRefused(tr("That reply was withdrawn. Write a new one."))
    return then if said.text != taken.text else None


async def changes_request(connection: AsyncConnection, case: Case, taken: ActTaken) -> bool:
    """Return whether an act changes anything about a request to see more; True for other acts.

    Raises ActRefused if there is no such request.
    """
    if taken.act not in lifecycle.MORE_ACTS:
        return True
    rows = await connection.execute(select_steps(case.tenant, case.interaction_id))
    steps = [step_of(row) for row in rows.all()]
    return showing_more.changes_request(steps, taken.act, taken.detail.about)


def _after_retraction(
    case: Case, taken: ActTaken, steps: Sequence[CaseStep], then: CaseStatus
) -> CaseStatus:
    left = (each for each in standing_replies(steps) if each.number != taken.detail.about)
    answers = any(each.actor is not None and taken.actor.has(each.actor.id) for each in left)
    return case.status if answers else then


def refuse_asker(case: Case, to: Actor | None) -> None:
    """Raise ActRefused if a case would be given to its asker."""
    if to is not None and to.has(case.asker_id):
        raise ActRefused(tr("They asked this question. Choose somebody else."))


async def record_act(
    connection: AsyncConnection, case: Case, taken: ActTaken, at: datetime
) -> None:
    """Insert the history step, its notices and event and, for an expert, the audit row."""
    key = case.interaction_id
    number = await connection.scalar(select_next_step_number(key)) or 1
    step = CaseStep(key, number, taken.act, taken.actor, taken.text, at, taken.detail)
    await connection.execute(insert_step(case.tenant, step))
    await connection.execute(insert_webhook_event(case, number, at))
    if taken.act not in lifecycle.AFTERTHOUGHTS:
        await connection.execute(settle_notices_to_people(key))
    for to in lifecycle.recipients_of(taken.act, is_asker=taken.is_asker):
        await connection.execute(insert_notice(case, number, to, at))
    if taken.actor.role == "expert":
        # An id, as the actor is: a name could not be found again to forget its person.
        given = taken.detail.to.id if taken.detail.to else ""
        await connection.execute(
            insert_audit(case.tenant, taken.actor.id, taken.act, key, detail=given)
        )
