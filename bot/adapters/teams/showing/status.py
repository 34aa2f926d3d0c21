"""What an asker sees while there is no answer: a stream, or that the bot is typing."""

from __future__ import annotations

import structlog

from bot.adapters.teams.calling.connector import PATIENCE_SECONDS, Connector
from bot.adapters.teams.calling.pacing import Pacing
from bot.adapters.teams.showing.render import typing, waiting
from bot.adapters.teams.showing.streams import PAUSE_SECONDS, Streams, stream_in
from bot.adapters.teams.wire.body import text_at
from bot.chat.response_view import activity_text
from bot.domain.errors import DeliveryFailed
from bot.domain.types import Activity, Message, PostedRef

_REFUSED_PAUSE_SECONDS = 60.0
_TYPING_SECONDS = 10.0
"""Teams shows typing for a few seconds; each time is a post that counts against its limits."""

log = structlog.get_logger(__name__)


class Status:
    """Shows that a question is worked on; all of it may be lost, and nothing waits for it.

    Words to that effect stand in streams alone, which Teams itself ends: a message whose post got
    through unseen could never be found again, and would say so for ever.
    """

    def __init__(self, connector: Connector, streams: Streams) -> None:
        self._connector = connector
        self._streams = streams
        self._pacing = Pacing()

    async def open(self, message: Message, *, needed: bool = False) -> PostedRef | None:
        """Open a stream; None where there is none to be had. Raises DeliveryFailed.

        One that is ``needed`` waits for the rate limit as a reply does.
        """
        patience = PATIENCE_SECONDS if needed else 0.0
        stream = await self._streams.open(
            message, text_at(waiting(), "text"), patience_seconds=patience
        )
        if stream is not None:
            self._pacing.hold(message.interaction_id, PAUSE_SECONDS)
        return stream

    async def show(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Say what is being done in a stream; elsewhere show that the bot is typing.

        What comes too soon after what came before is left out. What Teams refuses for a message is
        left alone for a minute.
        """
        if not activity_text(activity) or not self._pacing.is_due(message.interaction_id):
            return
        try:
            await self._show(message, activity, placeholder)
        except DeliveryFailed as error:
            pause = error.retry_after_seconds or _REFUSED_PAUSE_SECONDS
            self._pacing.hold(message.interaction_id, pause)
            log.info("teams.progress_unavailable", error=str(error))

    async def _show(self, message: Message, activity: Activity, where: PostedRef | None) -> None:
        if stream := stream_in(where):
            self._pacing.hold(message.interaction_id, PAUSE_SECONDS)
            await self._streams.inform(message, stream, text_at(waiting(activity), "text"))
        else:
            self._pacing.hold(message.interaction_id, _TYPING_SECONDS)
            await self._connector.send(message.reply_to, typing(), patience_seconds=0.0)
