"""Which conversations the bot was removed from, so that nothing more is sent there."""

from __future__ import annotations

import structlog

from bot.domain.concurrency import TtlCache
from bot.domain.errors import StoreUnavailable
from bot.domain.ports import Notes

_KEPT_SECONDS = 60.0
_MOST = 1_000
_CHANNEL = "19:"

log = structlog.get_logger(__name__)


class Presence:
    """Remembers it for all processes, in notes.

    A conversation is a chat or a channel, without a thread. Others are told within a minute that
    the bot is gone from one, and at once that it is back.
    """

    def __init__(self, notes: Notes, tenant: str) -> None:
        self._notes = notes
        self._tenant = tenant
        self._kept = TtlCache(self._noted, seconds=_KEPT_SECONDS, most=_MOST)

    async def gone(self, conversation: str, why: str) -> None:
        """Note that nothing can be sent there any more. Raises StoreUnavailable."""
        await self._notes.put(self._tenant, _key(conversation), why)
        self._kept.put(conversation, why)
        log.info("teams.gone_from", conversation=conversation, why=why)

    async def back(self, conversation: str) -> None:
        """Note that something came from there. Raises StoreUnavailable."""
        if await self._kept.get(conversation) is not None:
            await self._here(conversation)

    async def added(self, conversation: str) -> None:
        """Note that the bot was added there, whatever this process knows. Raises StoreUnavailable.

        Teams tells of a team in its channel General alone, and does not say which other channels
        it is that the bot is back in: all channels are tried again.
        """
        await self._here(conversation)
        if conversation.startswith(_CHANNEL):
            for key in await self._notes.beginning(self._tenant, _key(_CHANNEL)):
                await self._here(key.removeprefix(_key("")))

    async def is_gone(self, conversation: str) -> bool:
        """Tell whether to send nothing there; False where that is not known."""
        try:
            if await self._kept.get(conversation) is None:
                return False
            return await self._noted(conversation) is not None
        except StoreUnavailable:
            return False

    async def _here(self, conversation: str) -> None:
        await self._notes.remove(self._tenant, _key(conversation))
        self._kept.put(conversation, None)

    async def _noted(self, conversation: str) -> str | None:
        return await self._notes.get(self._tenant, _key(conversation))


def _key(conversation: str) -> str:
    return f"teams:gone:{conversation}"
