"""Everything that people and askers do about a case, joined."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.slack.arriving.dispatch import Registers
from bot.adapters.slack.cases.acting import CaseButtons
from bot.adapters.slack.cases.asker_buttons import AskerButtons
from bot.adapters.slack.cases.case_words import CaseWords
from bot.adapters.slack.cases.experts import Experts
from bot.adapters.slack.channel import SlackChannel
from bot.adapters.slack.pressed.pressing import Presses
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.showing.modals import Modals
from bot.chat.adapters import ChatContext
from bot.domain.concurrency import BackgroundTasks
from bot.escalations.cards import CardActions


def case_listeners(
    channel: SlackChannel, office: ChatContext, *, errands: BackgroundTasks
) -> Sequence[Registers]:
    """Return who takes what is done about a case; its card is shown as the office sees it."""
    channel.attend(office.casework)
    tenant, works, recorded = office.tenant, office.casework, office.interactions
    presses = Presses(Asides(channel.client), errands)
    experts = Experts(channel.colleagues)
    cards = CardActions(
        tenant=tenant, sees=works, recorded=recorded, cards=channel, errands=errands
    )
    return (
        CaseButtons(
            tenant=tenant,
            works=works,
            cards=cards,
            experts=experts,
            presses=presses,
            modals=Modals(channel.client, channel.caller),
        ),
        CaseWords(tenant=tenant, works=works, experts=experts, notes=office.notes),
        AskerButtons(tenant=tenant, works=works, recorded=recorded, presses=presses),
    )
