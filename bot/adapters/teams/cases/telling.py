"""What an asker is told later, where they asked, with what they may do then."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.calling.connector import Connector
from bot.adapters.teams.cases.news import told
from bot.adapters.teams.showing.parts import Parts
from bot.domain.cases import Notice
from bot.domain.ports import Notes
from bot.domain.types import Message, PostedRef
from bot.escalations.asker_notices import LatestNotice
from bot.escalations.case_view import STATE_AFTER_STEP, CaseButton, CaseView, buttons_for_asker
from bot.escalations.ports import SeesCases


class Telling:
    """Implements bot.escalations.ports.Tells.

    Teams can't be asked what was posted: a repetition adds what is not known to be there, and what
    got through unseen is told again. The posted reference names the first message.
    """

    def __init__(self, connector: Connector, parts: Parts, notes: Notes) -> None:
        self._connector = connector
        self._parts = parts
        self._last = LatestNotice(_News(connector), notes, "teams")

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen."""
        self._last.attend(sees)

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post what a person did; theirs by name and words. Raises DeliveryFailed."""
        state = STATE_AFTER_STEP.get(notice.step)
        shown = told(message, notice, buttons_for_asker(state) if state else ())
        several = len(shown) > 1
        posted = [*await self._parts.of(message, notice.id, several=several)]
        for activity in shown[len(posted) :]:
            posted.append(await self._connector.send(message.reply_to, activity))
            await self._parts.keep(message, notice.id, posted, several=several)
        channel = message.thread.channel
        if state:
            await self._last.came(message, notice, PostedRef(channel, posted[-1]), state)
        return PostedRef(channel, posted[0])

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:  # noqa: ARG002  # the port's
        """Return None: Teams cannot be asked. Better told twice than never."""
        return None

    async def show(self, message: Message, view: CaseView) -> None:
        """Let the last message offer what can be done now. Raises DeliveryFailed."""
        await self._last.show(message, view)


class _News:
    """Implements bot.escalations.asker_notices.EditsNotices."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    async def edit(
        self,
        message: Message,
        at: PostedRef,
        notice: Notice,
        offers: Sequence[CaseButton],
        remark: str,
    ) -> None:
        if offers or remark:
            shown = told(message, notice, offers, remark)[-1]
            await self._connector.update(message.reply_to, at.id, shown)
        else:
            # The buttons are a message of their own; a card of nothing would be left.
            await self._connector.delete(message.reply_to, at.id)
