"""Lock cases, in one order everywhere, so that no two transactions wait for each other.

1. Of a case its interaction, then the case itself, as retention and withdrawal do.
2. Of several cases first those that stand alone or lead others, by id; then those that joined
   them, by id.
3. Read which case leads which before locking, and again after. Joining and leaving lock both
   cases, so that it can't change any more. If it changed in between, start over (`Overtaken`).

A transaction that opens a case locks its question before the case that it joins. This is safe:
nobody who holds that case can wait for one that does not exist yet. Reminders skip what is locked.
Upkeep that names no case, such as forgetting a person, locks rows as it finds them. If PostgreSQL
ends a transaction for that, `Transactions.apply` makes its change anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import Case
from bot.domain.json_codec import storable
from bot.store import queries
from bot.store.case_rows import case_of, select_case
from bot.store.connections import Overtaken
from bot.store.tables import EscalationRow


async def lock_case(connection: AsyncConnection, tenant: str, case_id: str) -> Case | None:
    """Lock a case until the transaction ends, and return it; None if it is withdrawn."""
    key = storable(case_id)
    await connection.execute(*queries.select_interaction_for_update(key))
    query = select_case(tenant, key).where(queries.not_withdrawn())
    query = query.with_for_update(of=EscalationRow)
    row = (await connection.execute(query)).first()
    return None if row is None else case_of(row)


async def lock_cases(
    connection: AsyncConnection, tenant: str, *case_ids: str
) -> Mapping[str, Case]:
    """Lock cases, and those that they joined; return by their ids all that there are.

    Raises Overtaken if one of them joins or leaves another meanwhile.
    """
    leads = await _leads(connection, tenant, case_ids)
    standing = {lead or each for each, lead in leads.items()}
    found: dict[str, Case] = {}
    for each in sorted(standing):
        case = await lock_case(connection, tenant, each)
        if case and case.joined_to:
            raise _overtaken(each)
        found |= {each: case} if case else {}
    joined = sorted(leads.keys() - standing)
    # If one has left meanwhile, don't lock it: its holder may be waiting for a case held here.
    now = await _leads(connection, tenant, joined) if joined else {}
    for each in joined:
        if now[each] != leads[each]:
            raise _overtaken(each)
        case = await lock_case(connection, tenant, each)
        found |= {each: case} if case else {}
    return found


def _overtaken(case_id: str) -> Overtaken:
    return Overtaken(f"Case {case_id!r} joined or left another one meanwhile. Try again.")


async def lock_with_lead(
    connection: AsyncConnection, tenant: str, case_id: str
) -> tuple[Case | None, Case | None]:
    """Lock a case and the one that it joined; return both, the case first.

    The second is None for a case that stands for itself, also because its leading case is gone.
    Raises Overtaken.
    """
    found = await lock_cases(connection, tenant, case_id)
    case = found.get(case_id)
    lead = found.get(case.joined_to or "") if case else None
    if case is None or lead is None:
        return (case and replace(case, joined_to=None)), None
    return case, lead


async def lock_followers(connection: AsyncConnection, lead: Case) -> Sequence[Case]:
    """Lock the cases that joined a locked one, and return them in the order they were opened."""
    row = EscalationRow
    query = select(row.interaction_id).where(row.joined_to == lead.interaction_id)
    ids = await connection.scalars(query.order_by(row.interaction_id))
    locked = [await lock_case(connection, lead.tenant, each) for each in ids.all()]
    there = [each for each in locked if each and each.joined_to == lead.interaction_id]
    return sorted(there, key=lambda each: (each.opened_at, each.interaction_id))


async def _leads(
    connection: AsyncConnection, tenant: str, case_ids: Sequence[str]
) -> Mapping[str, str]:
    """Return by the id of each case that of the one that it joined; "" for none."""
    row = EscalationRow
    named = row.interaction_id.in_([storable(each) for each in case_ids])
    query = select(row.interaction_id, row.joined_to).where(row.tenant == tenant, named)
    joined = {case: lead for case, lead in await connection.execute(query) if lead}
    return {each: joined.get(storable(each), "") for each in case_ids}
