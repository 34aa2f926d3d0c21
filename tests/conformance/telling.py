"""Those who answer, and the process that tells the asker of it; it may die in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.domain.cases import Act, Actor, Notice
from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import PostedRef
from bot.domain.messages import InteractionId
from bot.domain.ports import Channel
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.escalations.notices import NoticeDelivery, NoticeLoop
from bot.escalations.ports import Outbox
from bot.store.database import Store
from rag.types import EVERYONE
from tests.bot.offices import ReadsPages
from tests.conformance.desks import PAGE_809

ANNA = Actor("anna.lopez", "Anna Lopez", "expert")


class Dying:
    """An outbox that never hears that something was told: the process is gone by then."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def due(self, owner: str, now: datetime, limit: int) -> Sequence[Notice]:
        return await self._outbox.due(owner, now, limit)

    async def sent(self, notice: Notice, ref: PostedRef | None) -> None:
        raise StoreUnavailable("The process died here.")

    async def later(self, notice: Notice, at: datetime) -> None:
        raise StoreUnavailable("The process died here.")

    async def failed(self, notice: Notice, why: str) -> None:
        raise StoreUnavailable("The process died here.")

    async def remind(self, now: datetime) -> int:
        return await self._outbox.remind(now)


@dataclass
class People:
    """Anna, who takes what is escalated, and the processes that tell the news of what she did.

    ``channel`` makes a channel as a process has it that knows nothing of the others.
    """

    store: Store
    channel: Callable[[], Channel | None]
    tenant: str
    ahead: timedelta = timedelta()

    async def act(self, case_id: InteractionId, act: Act, text: str = "") -> None:
        await self.store.escalations.act(self.tenant, case_id, act, ANNA, text)

    def pass_by(self, **amount: float) -> None:
        self.ahead += timedelta(**amount)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    async def tell(self) -> None:
        """Have a process tell all that is due."""
        news = self._news("alive", self.store.notices)
        while await news.round():
            pass

    async def tell_and_die(self) -> bool:
        """Have a process tell what is due and die before it can note so; tell whether it did.

        Its claims run out.
        """
        try:
            await self._news("dying", Dying(self.store.notices)).round()
        except StoreUnavailable:
            self.pass_by(minutes=2)
            return True
        return False

    async def shown(self, case_id: InteractionId) -> CaseView:
        """Return a case as the board shows it and as the cards and notices are made from it."""
        return await self._works().view(self.tenant, case_id, frozenset({EVERYONE}))

    def _works(self) -> Casework:
        return Casework(
            cases=self.store.escalations,
            interactions=self.store.interactions,
            readable=ReadsPages(PAGE_809),
        )

    def _news(self, owner: str, outbox: Outbox) -> NoticeLoop:
        channel = self.channel()
        teller = NoticeDelivery(
            outbox=outbox,
            cases=self.store.escalations,
            works=self._works(),
            recorded=self.store.interactions,
            channels={} if channel is None else {channel.platform: channel},
            now=self.now,
        )
        return NoticeLoop(
            owner=owner,
            outbox=outbox,
            teller=teller,
            is_open=lambda: True,
            now=self.now,
        )
