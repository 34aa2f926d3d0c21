"""Where a question can be opened on its own platform, by those who may see it there."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Protocol

import structlog

from bot.errors import BotError
from bot.escalations.ports import LinksBack
from bot.types import Interaction, InteractionId, Platform

PATIENCE_SECONDS = 1.0
"""A page waits so long for a link and is shown without it then."""

_REMEMBERED = 1_000

log = structlog.get_logger(__name__)


class Recorded(Protocol):
    """Where a question was asked, in the record."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...


class Origins:
    """Asks the platforms that give links; an answer is remembered, for it does not change.

    Args:
        recorded: where a question was asked.
        channels: those that give links, by platform.
        patience_seconds: how long one is waited for.
    """

    def __init__(
        self,
        recorded: Recorded,
        channels: Mapping[Platform, LinksBack],
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._recorded = recorded
        self._channels = channels
        self._patience = patience_seconds
        self._known: OrderedDict[InteractionId, str] = OrderedDict()

    async def of(self, case_id: InteractionId) -> str | None:
        """Return the address of a question's message, None where there is none to be had."""
        if case_id not in self._known:
            link = await self._asked(case_id)
            if link is None:
                return None
            self._known[case_id] = link
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known[case_id]

    async def _asked(self, case_id: InteractionId) -> str | None:
        asked = await self._recorded.get(case_id)
        channel = self._channels.get(asked.message.thread.platform) if asked else None
        if asked is None or channel is None:
            return None
        try:
            async with asyncio.timeout(self._patience):
                link = await channel.link(asked.message)
        except (BotError, TimeoutError) as error:
            log.warning("escalation.no_link", interaction_id=case_id, why=str(error) or "late")
            return None
        return link if link and link.startswith("https://") else None
