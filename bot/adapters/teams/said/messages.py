"""What people write in Teams, into the inbox."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.wire.body import Body
from bot.adapters.teams.wire.reading import message_of
from bot.office import Office


class Messages:
    """Implements Registers: what is written to the bot, or to all where that is allowed."""

    def __init__(self, office: Office) -> None:
        self._office = office

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("message", self._take)

    async def _take(self, body: Body) -> bool:
        message = message_of(body, tenant=self._office.tenant, received_at=datetime.now(UTC))
        if message is None:
            return False
        await self._office.inbox.accept(message)
        return True
