"""Addresses of messages; Slack is asked once for each."""

from __future__ import annotations

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed

_KEPT_SECONDS = 24 * 3600.0
_MOST = 1_000

log = structlog.get_logger(__name__)


class Permalinks:
    """Asks for addresses and keeps them: they do not change."""

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller
        self._known = TtlCache(self._asked, seconds=_KEPT_SECONDS, most=_MOST)

    async def of(self, channel: str, ts: str) -> str | None:
        """Return the address of a message; None where Slack gives none now."""
        try:
            return await self._known.get(f"{channel} {ts}")
        except DeliveryFailed as error:
            log.warning("slack.no_permalink", error=str(error))
            return None

    async def _asked(self, key: str) -> str:
        channel, _, ts = key.partition(" ")
        answer = await self._caller.call(
            "chat.getPermalink",
            lambda: self._client.chat_getPermalink(channel=channel, message_ts=ts),
        )
        return str(answer["permalink"])
