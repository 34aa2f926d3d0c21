"""A person presses Stop while the bot works: the newest question of theirs there is withdrawn."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.said.ongoing import ACCEPT_SECONDS
from bot.adapters.slack.showing.sessions import Sessions
from bot.adapters.slack.wire.events import id_at, ts_at
from bot.chat.adapters import ChatContext
from bot.domain.errors import InteractionUnknown
from bot.domain.types import Interaction, Thread

_LOOKED_AT = 20


class Stopping:
    """Implements Registers: agent_session_stopped.

    What was stopped is withdrawn, as if its asker had deleted the question: nothing is posted, and
    the record keeps that it was cancelled, not its words.
    """

    def __init__(self, office: ChatContext, sessions: Sessions) -> None:
        self._office = office
        self._sessions = sessions

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("agent_session_stopped")(self._stopped)

    async def _stopped(self, event: dict[str, object]) -> None:
        channel, thread_ts = id_at(event, "channel"), ts_at(event, "thread_ts")
        user = id_at(event, "user")
        if not (channel and thread_ts and user):
            return
        thread = Thread("slack", self._office.tenant, channel, thread_ts)
        self._sessions.stopped(thread)
        async with asyncio.timeout(ACCEPT_SECONDS):
            for each in reversed(await self._office.interactions.in_thread(thread, _LOOKED_AT)):
                if each.message.author.id == user and _is_open(each):
                    with suppress(InteractionUnknown):
                        await self._office.inbox.cancel(each.id)
                    return


def _is_open(interaction: Interaction) -> bool:
    """Tell whether its asker still waits for a reply."""
    waits = interaction.status in {"working", "done"}
    silent = interaction.outcome is not None and interaction.outcome.silent
    return waits and interaction.posted is None and not silent
