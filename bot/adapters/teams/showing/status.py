"""What an asker sees while there is no answer: a stream, or a message that is edited."""

from __future__ import annotations

import structlog

from bot.adapters.teams.calling.connector import PATIENCE_SECONDS, Connector
from bot.adapters.teams.calling.pacing import Pacing
from bot.adapters.teams.showing.render import typing, waiting
from bot.adapters.teams.showing.streams import PAUSE_SECONDS, Streams, stream_in
from bot.adapters.teams.wire.body import kind_of, text_at
from bot.adapters.teams.wire.reference import read_reference
from bot.errands import Errands
from bot.errors import DeliveryFailed
from bot.rendering.rendering import doing
from bot.types import Activity, Message, PostedRef

_EDIT_PAUSE_SECONDS = 1.0
_REFUSED_PAUSE_SECONDS = 60.0
_TYPING_SECONDS = 600.0
"""So long Teams need not be told again that the bot is typing: it is told once a question."""

log = structlog.get_logger(__name__)


class Status:
    """Shows that a question is worked on; all of it may be lost, and nothing waits for it."""

    def __init__(self, connector: Connector, streams: Streams, errands: Errands) -> None:
        self._connector = connector
        self._streams = streams
        self._errands = errands
        self._pacing = Pacing()

    async def open(self, message: Message, *, needed: bool = False) -> PostedRef:
        """Open a stream, or post what the reply will be edited into. Raises DeliveryFailed.

        One that is ``needed`` waits for the rate limit as a reply does.
        """
        patience = PATIENCE_SECONDS if needed else 0.0
        stream = await self._streams.open(
            message, text_at(waiting(), "text"), patience_seconds=patience
        )
        if stream is not None:
            self._pacing.hold(message.interaction_id, PAUSE_SECONDS)
            return stream
        if _is_group_chat(message):
            self._errands.run(self._type(message), what="typing")
        posted = await self._connector.send(message.reply_to, waiting(), patience_seconds=patience)
        if not posted:
            raise DeliveryFailed("Teams did not say where the placeholder is.")
        self._pacing.hold(message.interaction_id, _EDIT_PAUSE_SECONDS)
        return PostedRef(message.thread.channel, posted)

    async def show(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Say what is being done where that is shown; a channel shows no typing.

        What comes too soon after what came before is left out. What Teams refuses for a message is
        left alone for a minute.
        """
        if not doing(activity) or not self._pacing.is_due(message.interaction_id):
            return
        try:
            await self._show(message, activity, placeholder)
        except DeliveryFailed as error:
            pause = error.retry_after_seconds or _REFUSED_PAUSE_SECONDS
            self._pacing.hold(message.interaction_id, pause)
            log.info("teams.progress_unavailable", error=str(error))

    async def _show(self, message: Message, activity: Activity, where: PostedRef | None) -> None:
        if where is None:
            self._pacing.hold(message.interaction_id, _TYPING_SECONDS)
            if message.private or _is_group_chat(message):
                await self._type(message)
        elif stream := stream_in(where):
            self._pacing.hold(message.interaction_id, PAUSE_SECONDS)
            await self._streams.inform(message, stream, text_at(waiting(activity), "text"))
        else:
            self._pacing.hold(message.interaction_id, _EDIT_PAUSE_SECONDS)
            await self._connector.update(
                message.reply_to, where.id, waiting(activity), patience_seconds=0.0
            )

    async def _type(self, message: Message) -> None:
        await self._connector.send(message.reply_to, typing(), patience_seconds=0.0)


def _is_group_chat(message: Message) -> bool:
    return kind_of(read_reference(message.reply_to)) == "groupChat"
