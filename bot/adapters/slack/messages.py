"""Questions from Slack, into the inbox."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.events import message_of
from bot.adapters.slack.own import Own
from bot.office import Office

ACCEPT_SECONDS = 2.5
"""Slack takes an answer within 3 s; after this it had better try again."""


class Messages:
    """Implements Registers: mentions and messages."""

    def __init__(self, own: Own, office: Office) -> None:
        self._own = own
        self._office = office

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_mention")(self._take)
        bolt.event("message")(self._take)

    async def _take(self, body: dict[str, object], event: dict[str, object]) -> None:
        message = message_of(
            event,
            tenant=self._office.tenant,
            bot_users=self._own.users(body),
            received_at=datetime.now(UTC),
        )
        if message is not None:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await self._office.inbox.accept(message)
