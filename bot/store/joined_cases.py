"""Cases of the same question: join the leading one, follow what is done to it, and leave it.

A joined case keeps its row, history and notices, so that its asker is told as every other. All
functions get locked cases (`case_locks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Select, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.orm import aliased

from bot.domain.cases import NO_DETAIL, Actor, Case, CaseStatus, CaseStep, Step
from bot.domain.errors import ActRefused
from bot.domain.messages import InteractionId, Thread
from bot.domain.texts import tr
from bot.escalations import lifecycle
from bot.escalations.history import standing_replies
from bot.escalations.lifecycle import ReminderSchedule
from bot.store.case_acts import ActTaken
from bot.store.case_locks import lock_case, lock_followers
from bot.store.case_rows import (
    insert_notice,
    insert_step,
    insert_webhook_event,
    select_next_step_number,
    select_steps,
    step_of,
    update_case,
)
from bot.store.key_values import insert_audit
from bot.store.rows import utc_now
from bot.store.tables import EscalationRow, InteractionRow

_TAKES_MORE = lifecycle.WAITING | {"claimed"}
"""States of a case that the same question joins: it is answered later."""


async def are_all_among(
    connection: AsyncConnection, lead: Case, shared_with: frozenset[InteractionId]
) -> bool:
    """Return whether a locked case and all that joined it are among those that may read a text.

    Nobody joins meanwhile, for that locks the case, too.
    """
    row = EscalationRow
    joined = await connection.scalars(
        select(row.interaction_id).where(row.joined_to == lead.interaction_id)
    )
    return {lead.interaction_id, *joined.all()} <= shared_with


async def lead_for(
    connection: AsyncConnection, opened: Mapping[str, object], thread: Thread, since: datetime
) -> Case | None:
    """Return the case that a new one of the same question joins, locked; None for none.

    ``opened`` is the row of the new case. None as well if the question was asked in the same
    thread: the answer is there anyway.
    """
    tenant, key = str(opened["tenant"]), str(opened["join_key"])
    if not key:
        return None
    await _queue_up(connection, f"{tenant}:{key}")
    found = await connection.scalar(_select_lead(tenant, key, thread, since))
    lead = await lock_case(connection, tenant, found) if found else None
    if lead is None or lead.joined_to or lead.status.state not in _TAKES_MORE:
        return None
    return lead


async def _queue_up(connection: AsyncConnection, name: str) -> None:
    """Let those who ask the same at once open their cases one after the other, as SQLite does."""
    if connection.dialect.name == "postgresql":
        await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def _select_lead(tenant: str, key: str, thread: Thread, since: datetime) -> Select[str]:
    row, other = EscalationRow, aliased(EscalationRow)
    there = exists().where(
        InteractionRow.id == other.interaction_id,
        InteractionRow.tenant == thread.tenant,
        InteractionRow.thread == thread.key,
        or_(other.interaction_id == row.interaction_id, other.joined_to == row.interaction_id),
    )
    return (
        select(row.interaction_id)
        .where(
            row.tenant == tenant,
            row.join_key == key,
            row.joined_to.is_(None),
            row.state.in_(sorted(_TAKES_MORE)),
            row.opened_at >= since,
            ~there,
        )
        .order_by(row.opened_at, row.interaction_id)
        .limit(1)
    )


def joined_row(opened: Mapping[str, object], lead: Case) -> dict[str, object]:
    """Return the row of a new case that joins another: as far as that is, and nobody's reminder."""
    status = lead.status
    return {
        **opened,
        "joined_to": lead.interaction_id,
        "state": status.state,
        "owner": status.owner_id or None,
        "owner_name": status.owner_name,
        "due_at": None,
    }


async def note_on_lead(connection: AsyncConnection, lead: Case, step: Step, now: datetime) -> Case:
    """Record on the locked leading case that one joined or left it, so that its card says so."""
    changed = replace(lead, version=lead.version + 1)
    await connection.execute(update_case(changed))
    await record_step(connection, changed, step, now)
    return changed


async def record_step(
    connection: AsyncConnection,
    case: Case,
    step: Step,
    now: datetime,
    actor: Actor | None = None,
) -> None:
    """Insert a step of a locked case that its asker is not told of, with its notice and event."""
    key = case.interaction_id
    number = await connection.scalar(select_next_step_number(key)) or 1
    taken = CaseStep(key, number, step, actor, "", now)
    await connection.execute(insert_step(case.tenant, taken))
    await connection.execute(insert_webhook_event(case, number, now))
    await connection.execute(insert_notice(case, number, "people", now))


async def follow(
    connection: AsyncConnection,
    lead: Case,
    taken: ActTaken,
    others: ActTaken,
    at: datetime,
    origin: str,
) -> None:
    """Do to all that joined a locked case what was done to it, and tell each asker.

    ``others`` is the act with the words that others may read. ``origin`` is the case that it was
    done to: in its thread a reply may have been written, which its asker has read there.
    """
    if taken.act in lifecycle.ONE_CASE_ACTS:
        return
    steps = None
    if taken.detail.about:
        steps = await _steps(connection, lead)
    for case in await lock_followers(connection, lead):
        about = 0
        if steps is not None:
            about = counterpart(steps, taken.detail.about, await _steps(connection, case))
            if not about:
                continue
        done = taken if case.interaction_id == origin else others
        in_thread = taken.detail.in_thread and case.interaction_id == origin
        detail = replace(done.detail, about=about, in_thread=in_thread)
        await _follow(connection, case, lead, replace(done, detail=detail), at)


async def _follow(
    connection: AsyncConnection, case: Case, lead: Case, taken: ActTaken, at: datetime
) -> None:
    case = replace(
        case,
        status=lead.status,
        changed_at=lead.changed_at,
        due_at=None,
        version=case.version + 1,
    )
    await connection.execute(update_case(case))
    key = case.interaction_id
    number = await connection.scalar(select_next_step_number(key)) or 1
    step = CaseStep(key, number, taken.act, taken.actor, taken.text, at, taken.detail)
    await connection.execute(insert_step(case.tenant, step))
    await connection.execute(insert_webhook_event(case, number, at))
    asked = taken.actor.has(case.asker_id)
    if "asker" in lifecycle.recipients_of(taken.act, is_asker=asked):
        await connection.execute(insert_notice(case, number, "asker", at))


def counterpart(steps: Sequence[CaseStep], number: int, others: Sequence[CaseStep]) -> int:
    """Return the number that a reply has in the history of another case of the same question.

    It was written into both at once; 0 if the other has no such reply.
    """
    said = next((each for each in steps if (each.number, each.step) == (number, "reply")), None)
    if said is None:
        return 0
    same = (each.number for each in others if _is_same(each, said))
    return next(same, 0)


def _is_same(one: CaseStep, other: CaseStep) -> bool:
    actors = one.actor and one.actor.id, other.actor and other.actor.id
    return (one.step, one.at) == (other.step, other.at) and actors[0] == actors[1]


async def counterpart_in(connection: AsyncConnection, case: Case, number: int, other: Case) -> int:
    """Return the number that a reply of a case has in another one; 0 if it is not there."""
    if not number:
        return 0
    return counterpart(await _steps(connection, case), number, await _steps(connection, other))


async def _steps(connection: AsyncConnection, case: Case) -> Sequence[CaseStep]:
    rows = await connection.execute(select_steps(case.tenant, case.interaction_id))
    return [step_of(row) for row in rows.all()]


async def hand_lead_on(
    connection: AsyncConnection, lead: Case, reminders: ReminderSchedule, now: datetime
) -> None:
    """Make the oldest case that joined a locked one lead the others, because that one leaves."""
    followers = await lock_followers(connection, lead)
    if not followers:
        return
    first, *others = followers
    waits = first.status.state in lifecycle.WAITING
    first = replace(
        first,
        joined_to=None,
        due_at=reminders.due(now) if waits else None,
        version=first.version + 1,
    )
    await connection.execute(update_case(first))
    row = EscalationRow
    await connection.execute(
        update(row)
        .where(row.interaction_id.in_([each.interaction_id for each in others]))
        .values(joined_to=first.interaction_id)
    )
    await record_step(connection, first, "lead", now)


async def leave_group(
    connection: AsyncConnection,
    case: Case,
    lead: Case | None,
    reminders: ReminderSchedule,
    now: datetime,
) -> Case:
    """Take a locked case out of its group; return it, still to be written."""
    if lead is not None:
        gone = update(EscalationRow).where(EscalationRow.interaction_id == case.interaction_id)
        await connection.execute(gone.values(joined_to=None))
        await note_on_lead(connection, lead, "left", now)
    else:
        await hand_lead_on(connection, case, reminders, now)
    return replace(case, joined_to=None)


def split_off(case: Case, reminders: ReminderSchedule, now: datetime) -> Case:
    """Return a joined case as one of its own: it waits for people, unless it is settled."""
    alone = replace(case, joined_to=None, version=case.version + 1)
    if case.status.state in lifecycle.SETTLED:
        return alone
    return replace(
        alone, status=CaseStatus("open"), changed_at=now, due_at=reminders.due(now), pings=0
    )


_NOT_FOR_ALL = tr(
    "The other case was answered already, and that answer may quote pages that not everyone may "
    "read. Answer this one by itself."
)


async def join_by_hand(
    connection: AsyncConnection,
    case: Case,
    lead: Case,
    actor: Actor,
    shared_with: frozenset[InteractionId],
) -> Case:
    """Join a locked case, with those that joined it, to another locked one; return it.

    Their askers get what was answered already. Raises ActRefused if one of them, or of those that
    have it, may not read that.
    """
    now = utc_now()
    replies = standing_replies(await _steps(connection, lead))
    both = [await are_all_among(connection, each, shared_with) for each in (case, lead)]
    if replies and not all(both):
        raise ActRefused(_NOT_FOR_ALL)
    followers = await lock_followers(connection, case)
    joined = [_joined(each, lead, now) for each in (case, *followers)]
    for each in joined:
        await connection.execute(update_case(each))
        await _repeat_replies(connection, each, replies, now)
    await record_step(connection, joined[0], "join", now, actor)
    await connection.execute(
        insert_audit(case.tenant, actor.id, "join", case.interaction_id, detail=lead.interaction_id)
    )
    await note_on_lead(connection, lead, "joined", now)
    return joined[0]


def _joined(case: Case, lead: Case, now: datetime) -> Case:
    return replace(
        case,
        status=lead.status,
        joined_to=lead.interaction_id,
        due_at=None,
        changed_at=now,
        version=case.version + 1,
    )


async def _repeat_replies(
    connection: AsyncConnection,
    case: Case,
    replies: Sequence[CaseStep],
    now: datetime,
) -> None:
    """Write replies into a case's history as they stand, and tell its asker.

    They keep their time, by which a later correction finds them.
    """
    for each in replies:
        key = case.interaction_id
        number = await connection.scalar(select_next_step_number(key)) or 1
        step = replace(each, interaction_id=key, number=number, detail=NO_DETAIL)
        await connection.execute(insert_step(case.tenant, step))
        await connection.execute(insert_webhook_event(case, number, now))
        await connection.execute(insert_notice(case, number, "asker", now))
