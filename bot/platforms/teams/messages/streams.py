"""Show progress while there is no answer: a native stream that ends as the answer, or typing.

Only personal chats have streams, one at a time, for two minutes at most. The answer is shown
whole: the gate needs all of it before anything of it may be seen.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog

from bot.chat.response_view import activity_text
from bot.domain.errors import DeliveryFailed, DeliveryRefused, InteractionUnknown
from bot.domain.interactions import PostedRef
from bot.domain.messages import Activity, InteractionId, Message
from bot.platforms.teams.client.connector import PATIENCE_SECONDS, Connector
from bot.platforms.teams.client.errors import BotRemoved, ContentRefused, Gone, StreamRefused
from bot.platforms.teams.client.rate_limits import Cooldowns
from bot.platforms.teams.payloads.activity import Json, text_at
from bot.platforms.teams.rendering.answers import progress_message, typing_activity

PAUSE_SECONDS = 1.5
"""Between two updates of a stream; Teams takes one a second, and asks for this much."""

_UNAVAILABLE_SECONDS = 600.0
_REMEMBERED = 1_000
_STREAM_PREFIX = "stream:"
_ENDED_TEXT = "This has ended."

StopHandler = Callable[[InteractionId], Awaitable[None]]
"""Withdraws a question, for its asker pressed Stop."""

log = structlog.get_logger(__name__)


def stream_ref(channel: str, stream_id: str) -> PostedRef:
    """Return the place of a stream that is open: no message yet."""
    return PostedRef(channel, f"{_STREAM_PREFIX}{stream_id}")


def stream_id_of(ref: PostedRef | None) -> str:
    """Return the stream that is open at a place, "" for a message's place."""
    return ref.id.removeprefix(_STREAM_PREFIX) if ref and ref.id.startswith(_STREAM_PREFIX) else ""


class Streams:
    """Opens streams, goes on with them, and ends them with a message that has the stream's id.

    Whoever opened a stream alone knows how far it is, and goes on with it; any process can end it:
    the last message has no number. Raises DeliveryFailed, as the connector does.
    """

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._sequences: OrderedDict[str, int] = OrderedDict()
        self._unavailable = Cooldowns()
        self._stopped: StopHandler | None = None

    def on_stopped(self, stopped: StopHandler) -> None:
        """Say what is done when a question's asker presses Stop."""
        self._stopped = stopped

    def may_open(self, message: Message) -> bool:
        """Tell whether a stream may be had where a message was asked; it is asked in any case."""
        return message.private and self._unavailable.is_due(message.thread.channel)

    async def open(
        self, message: Message, words: str, *, patience_seconds: float = 0.0
    ) -> PostedRef | None:
        """Open a stream that says what is being done; None where there is none to be had.

        That is believed of a chat for ten minutes.
        """
        chat = message.thread.channel
        if not self.may_open(message):
            return None
        begun = _update_activity(words, sequence=1)
        try:
            stream_id = await self._connector.send(
                message.reply_to, begun, patience_seconds=patience_seconds
            )
        except BotRemoved:
            raise
        except DeliveryRefused as error:
            self._unavailable.hold(chat, _UNAVAILABLE_SECONDS)
            log.info("teams.stream_unavailable", error=str(error))
            return None
        if not stream_id:
            raise DeliveryFailed("Teams did not say where the stream is.")
        self._remember(stream_id, 1)
        return stream_ref(chat, stream_id)

    async def inform(self, message: Message, stream_id: str, words: str) -> None:
        """Say what is being done now; a stream that another process opened is left as it is."""
        sequence = self._sequences.get(stream_id, 0) + 1
        if sequence == 1:
            return
        self._remember(stream_id, sequence)
        update = _update_activity(words, sequence=sequence, stream_id=stream_id)
        try:
            await self._connector.send(message.reply_to, update, patience_seconds=0.0)
        except StreamRefused as error:
            self._sequences.pop(stream_id, None)
            log.info("teams.stream_ended", interaction_id=message.interaction_id, why=error.why)
            if error.why == "stopped":
                await self._withdraw(message)

    async def finish(self, message: Message, stream_id: str, activity: Json) -> str:
        """End a stream with its message; return the id of where that is.

        A stream that is over is edited into the message, which is the same as once when it is
        repeated; where nothing is left of it, the message is posted. One that was stopped gets
        nothing: the question is withdrawn, and the refusal raised. So is FormRefused: the stream is
        as it was, and a plainer message may end it.
        """
        self._sequences.pop(stream_id, None)
        try:
            await self._connector.send(message.reply_to, _final_activity(activity, stream_id))
        except (ContentRefused, BotRemoved):
            raise
        except DeliveryRefused as error:
            return await self._after(message, stream_id, activity, error)
        return stream_id

    async def drop(self, message: Message, stream_id: str) -> None:
        """Leave nothing of a stream that may still be open."""
        try:
            await self._connector.delete(message.reply_to, stream_id)
        except DeliveryRefused:
            log.info("teams.stream_closed_first", interaction_id=message.interaction_id)
        else:
            return
        closing = {"type": "message", "text": _ENDED_TEXT, "textFormat": "plain"}
        try:
            await self._connector.send(message.reply_to, _final_activity(closing, stream_id))
            await self._connector.delete(message.reply_to, stream_id)
        except DeliveryRefused as error:
            log.info("teams.stream_gone", why=str(error))

    async def _after(
        self, message: Message, stream_id: str, activity: Json, error: DeliveryRefused
    ) -> str:
        """Show the message though Teams refused it as the end of a stream."""
        why = error.why if isinstance(error, StreamRefused) else "refused"
        log.info("teams.stream_ended", interaction_id=message.interaction_id, why=why)
        if why == "stopped":
            await self._withdraw(message)
            raise error
        if why == "completed":
            return stream_id
        if not isinstance(error, Gone):
            try:
                await self._connector.update(message.reply_to, stream_id, activity)
            except (ContentRefused, BotRemoved):
                raise
            except DeliveryRefused as refusal:
                log.info("teams.stream_not_edited", why=str(refusal))
            else:
                return stream_id
        return await self._connector.send(message.reply_to, activity)

    async def _withdraw(self, message: Message) -> None:
        if self._stopped is not None:
            with suppress(InteractionUnknown):
                await self._stopped(message.interaction_id)

    def _remember(self, stream_id: str, sequence: int) -> None:
        self._sequences[stream_id] = sequence
        self._sequences.move_to_end(stream_id)
        while len(self._sequences) > _REMEMBERED:
            self._sequences.popitem(last=False)


def _update_activity(words: str, *, sequence: int, stream_id: str = "") -> Json:
    info = {"type": "streaminfo", "streamType": "informative", "streamSequence": sequence}
    known = {"streamId": stream_id} if stream_id else {}
    return {"type": "typing", "text": words, "entities": [{**info, **known}]}


def _final_activity(activity: Json, stream_id: str) -> Json:
    entities = activity.get("entities")
    others: Sequence[object] = entities if isinstance(entities, list) else ()
    info = {"type": "streaminfo", "streamId": stream_id, "streamType": "final"}
    return {**activity, "entities": [*others, info]}


_REFUSED_PAUSE_SECONDS = 60.0
_TYPING_SECONDS = 10.0
"""Teams shows typing for a few seconds; each time is a post that counts against its limits."""


class ProgressStatus:
    """Shows that a question is worked on; all of it may be lost, and nothing waits for it.

    Words to that effect stand in streams alone, which Teams itself ends: a message whose post got
    through unseen could never be found again, and would say so for ever.
    """

    def __init__(self, connector: Connector, streams: Streams) -> None:
        self._connector = connector
        self._streams = streams
        self._pacing = Cooldowns()

    async def open(self, message: Message, *, needed: bool = False) -> PostedRef | None:
        """Open a stream; None where there is none to be had. Raises DeliveryFailed.

        One that is ``needed`` waits for the rate limit as a reply does.
        """
        patience = PATIENCE_SECONDS if needed else 0.0
        stream = await self._streams.open(
            message, text_at(progress_message(), "text"), patience_seconds=patience
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
        if stream := stream_id_of(where):
            self._pacing.hold(message.interaction_id, PAUSE_SECONDS)
            await self._streams.inform(message, stream, text_at(progress_message(activity), "text"))
        else:
            self._pacing.hold(message.interaction_id, _TYPING_SECONDS)
            await self._connector.send(message.reply_to, typing_activity(), patience_seconds=0.0)
