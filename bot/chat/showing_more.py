"""Show who has a case what its asker agreed to show, once, on the card of any platform.

Nothing of it is kept: it is read anew, within what the one who looks may read, and recorded as seen
after it was shown. If a process dies in between, it can be looked at again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.answering.permitted_views import EarlierExchange
from bot.chat.actions import ActingUser, ActionTargets
from bot.domain.cases import Case, expert_of
from bot.domain.errors import ActRefused
from bot.domain.messages import InteractionId
from bot.domain.ports import Directory
from bot.domain.texts import tr
from bot.escalations.cards import CardActions
from bot.escalations.casework import Casework
from bot.escalations.lifecycle import display_name
from rag.types import EVERYONE

WITHHELD = tr("An answer from pages that you can't read or that have changed since.")
NO_ANSWER = tr("No answer.")
NOTHING_LEFT = tr("There is nothing left to show: it was withdrawn.")


@dataclass(frozen=True, slots=True)
class MoreShown:
    """What the asker of a case agreed to show, oldest first."""

    case: Case
    exchanges: Sequence[EarlierExchange]

    @property
    def heading(self) -> str:
        """The title, which says whose words these are; it has a name as it is."""
        return tr("{name} agreed to show this, once", name=display_name(self.case.asker_name))


@dataclass(frozen=True, slots=True)
class SeeMore:
    """Handles the press on a card that shows more of an asker's conversation."""

    targets: ActionTargets
    casework: Casework
    cards: CardActions
    directory: Directory

    async def see(
        self,
        case_id: InteractionId,
        presser: ActingUser,
        show: Callable[[MoreShown], Awaitable[None]],
    ) -> None:
        """Show it by ``show`` to the presser, and record that they saw it.

        Raises ActionRejected, ActRefused, InteractionUnknown, StoreUnavailable, DeliveryFailed.
        """
        tenant = self.targets.tenant
        colleague = await self.targets.colleague_of(presser)
        message, _ = await self.cards.place(case_id, presser.channel)
        actor = expert_of(self.targets.platform, colleague)
        reader = await self.directory.principals(tenant, colleague) | {EVERYONE}
        try:
            exchanges = await self.casework.more(tenant, case_id, actor, reader)
        except ActRefused:
            self.cards.refresh(message)
            raise
        case = (await self.casework.bare(tenant, case_id)).case
        await show(MoreShown(case, exchanges))
        await self.casework.act(tenant, case_id, "see_more", actor)


def answer_of(exchange: EarlierExchange) -> str:
    """Return the Markdown of an exchange's answer, or our line where there is none to show."""
    return WITHHELD if exchange.withheld else exchange.answer or NO_ANSWER
