"""The office: what every platform reaches of the bot."""

from __future__ import annotations

from bot.app.shelves import Shelves
from bot.app.status import CheckParts
from bot.app.working import Working
from bot.config import Settings
from bot.escalations.casework import Casework
from bot.escalations.reading import IndexReading
from bot.hearing import Hearing
from bot.office import Office
from bot.parts import Parts
from bot.store import Store


def office_of(
    settings: Settings,
    parts: Parts,
    store: Store,
    *,
    working: Working,
    shelves: Shelves,
    check_parts: CheckParts,
) -> Office:
    """Join it; nothing is started."""
    readable = IndexReading(parts.index)
    return Office(
        tenant=settings.tenant,
        inbox=working.inbox,
        interactions=store.interactions,
        casework=Casework(cases=working.cases, interactions=store.interactions, readable=readable),
        hearing=Hearing(store.policies, store.interactions),
        policies=store.policies,
        notes=store.notes,
        audits=store.audits,
        documents=shelves.documents,
        reindexing=shelves.reindexing,
        check_parts=check_parts,
    )
