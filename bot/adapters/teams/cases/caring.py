"""Everything that people and askers do about a case, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.arriving.dispatch import Registers
from bot.adapters.teams.cases.acting import CaseButtons
from bot.adapters.teams.cases.asker_buttons import AskerButtons
from bot.adapters.teams.cases.experts import Experts
from bot.adapters.teams.channel import TeamsChannel
from bot.chat.adapters import ChatContext
from bot.escalations.cards import CardActions
from bot.escalations.casework import IdempotentActs


def case_listeners(channel: TeamsChannel, office: ChatContext) -> Sequence[Registers]:
    """Return who takes what is done about a case; its card is shown as the office sees it."""
    channel.attend(office.casework)
    tenant, works, recorded = office.tenant, office.casework, office.interactions
    cards = CardActions(
        tenant=tenant, sees=works, recorded=recorded, cards=channel, errands=channel.errands
    )
    return (
        CaseButtons(
            tenant=tenant,
            works=works,
            saying=IdempotentActs(tenant=tenant, works=works, notes=office.notes),
            cards=cards,
            faces=channel.people,
            experts=Experts(channel.colleagues),
        ),
        AskerButtons(tenant=tenant, works=works, recorded=recorded),
    )
