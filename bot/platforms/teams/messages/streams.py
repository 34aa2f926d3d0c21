"""Show progress before an answer: a native stream that ends as the answer, or typing.

Only personal chats have streams, one at a time, for two minutes at most. The answer is not streamed
in parts: the confidence gate needs all of it before any of it may be shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog

from bot.chat.response_view import activity_text
from bot.domain.errors import DeliveryFailed, DeliveryRefused, InteractionUnknown
from bot.domain.interactions import PostedRef
from bot.domain.messages import Activity, InteractionId, Message
from bot.domain.texts import tr
from bot.platforms.teams.client.api import PATIENCE_SECONDS, TeamsClient
from bot.platforms.teams.client.errors import BotRemoved, ContentRefused, Gone, StreamRefused
from bot.platforms.teams.client.rate_limits import Cooldowns
from bot.platforms.teams.payloads.activity import Json, kind_of, read_reference, text_at
from bot.platforms.teams.rendering.answers import progress_message, typing_activity
from rag.types import BoundedDict

PAUSE_SECONDS = 1.5
"""Between two updates of a stream: Teams takes one a second, and recommends 1.5 s."""

_UNAVAILABLE_SECONDS = 600.0
_REMEMBERED = 1_000
_STREAM_PREFIX = "stream:"
_ENDED_TEXT = tr("This has ended.")

_REFUSED_PAUSE_SECONDS = 60.0
_TYPING_SECONDS = 10.0
"""Teams shows typing for a few seconds; each typing activity counts against the rate limits."""

StopHandler = Callable[[InteractionId], Awaitable[None]]
"""Withdraws a question whose asker pressed Stop."""

log = structlog.get_logger(__name__)


def stream_ref(channel: str, stream_id: str) -> PostedRef:
    """Return the reference of an open stream, which is no message yet."""
    return PostedRef(channel, f"{_STREAM_PREFIX}{stream_id}")


def stream_id_of(ref: PostedRef | None) -> str:
    """Return the id of an open stream; "" for the reference of a message."""
    return ref.id.removeprefix(_STREAM_PREFIX) if ref and ref.id.startswith(_STREAM_PREFIX) else ""


class Streams:
    """Opens streams, updates them, and ends them with a message that gets the stream's id.

    Only streams show progress as text, as Teams ends them by itself: a progress message whose post
    succeeded unseen could never be found and removed. Other chats get a typing indicator. Channels
    get nothing, as Teams shows no typing there
    (https://github.com/MicrosoftDocs/msteams-docs/issues/1451).

    Only the process that opened a stream has its sequence number and can update it; any process can
    end it, as the final message has no number. Raises DeliveryFailed, as the client does.
    """

    def __init__(self, client: TeamsClient) -> None:
        self._client = client
        self._sequences: BoundedDict[str, int] = BoundedDict(_REMEMBERED)
        self._unavailable = Cooldowns()
        self._pacing = Cooldowns()
        self._stopped: StopHandler | None = None

    def on_stopped(self, stopped: StopHandler) -> None:
        """Set the handler for a question whose asker pressed Stop."""
        self._stopped = stopped

    def may_open(self, message: Message) -> bool:
        """Return whether a stream may be tried here; the message is answered in any case."""
        return message.private and self._unavailable.is_due(message.thread.channel)

    async def open(self, message: Message, *, needed: bool = False) -> PostedRef | None:
        """Open a stream with a progress text; None if Teams allows none.

        If ``needed``, wait for the rate limit as a reply does. After a refusal no stream is tried
        in that chat for ten minutes.
        """
        chat = message.thread.channel
        if not self.may_open(message):
            return None
        begun = _update_activity(text_at(progress_message(), "text"), sequence=1)
        patience = PATIENCE_SECONDS if needed else 0.0
        try:
            stream_id = await self._client.send(message.reply_to, begun, patience_seconds=patience)
        except BotRemoved:
            raise
        except DeliveryRefused as error:
            self._unavailable.hold(chat, _UNAVAILABLE_SECONDS)
            log.info("teams.stream_unavailable", error=str(error))
            return None
        if not stream_id:
            raise DeliveryFailed("Teams did not say where the stream is.")
        self._sequences[stream_id] = 1
        self._pacing.hold(message.interaction_id, PAUSE_SECONDS)
        return stream_ref(chat, stream_id)

    async def show(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Update the stream's progress text; in a chat without a stream show a typing indicator.

        Updates that follow too soon are dropped. After a refusal updates of that message pause for
        as long as Teams asks, else for a minute.
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
            await self._update(message, stream, text_at(progress_message(activity), "text"))
        elif kind_of(read_reference(message.reply_to)) != "channel":
            self._pacing.hold(message.interaction_id, _TYPING_SECONDS)
            await self._client.send(message.reply_to, typing_activity(), patience_seconds=0.0)

    async def _update(self, message: Message, stream_id: str, words: str) -> None:
        """Update the progress text; does nothing for a stream that another process opened."""
        sequence = self._sequences.get(stream_id, 0) + 1
        if sequence == 1:
            return
        self._sequences[stream_id] = sequence
        update = _update_activity(words, sequence=sequence, stream_id=stream_id)
        try:
            await self._client.send(message.reply_to, update, patience_seconds=0.0)
        except StreamRefused as error:
            self._sequences.pop(stream_id, None)
            log.info("teams.stream_ended", interaction_id=message.interaction_id, why=error.why)
            if error.why == "stopped":
                await self._withdraw(message)

    async def finish(self, message: Message, stream_id: str, activity: Json) -> str:
        """End a stream with its message; return the id of that message.

        If the stream is over, its message is edited, which is idempotent; if that is gone, a new
        message is posted. If the reader pressed Stop, the question is withdrawn and the refusal
        raised. ContentRefused is raised too: the stream is unchanged, and a plainer message may end
        it.
        """
        self._sequences.pop(stream_id, None)
        try:
            await self._client.send(message.reply_to, _final_activity(activity, stream_id))
        except (ContentRefused, BotRemoved):
            raise
        except DeliveryRefused as error:
            return await self._finish_refused(message, stream_id, activity, error)
        return stream_id

    async def end_with(self, message: Message, stream_id: str, activity: Json) -> bool:
        """End a stream with a message and its card; return False if Teams wants it otherwise.

        Repeating it is idempotent. The stream is unchanged then, or over: ``finish`` says which.
        """
        try:
            await self._client.send(message.reply_to, _final_activity(activity, stream_id))
        except BotRemoved:
            raise
        except DeliveryRefused as error:
            why = error.why if isinstance(error, StreamRefused) else "refused"
            log.info("teams.card_apart", interaction_id=message.interaction_id, why=why)
            return why == "completed"
        self._sequences.pop(stream_id, None)
        return True

    async def drop(self, message: Message, stream_id: str) -> None:
        """Delete a stream that may still be open; if it must be ended first, end and delete it."""
        try:
            await self._client.delete(message.reply_to, stream_id)
        except DeliveryRefused:
            log.info("teams.stream_closed_first", interaction_id=message.interaction_id)
        else:
            return
        closing = {"type": "message", "text": _ENDED_TEXT, "textFormat": "plain"}
        try:
            await self._client.send(message.reply_to, _final_activity(closing, stream_id))
            await self._client.delete(message.reply_to, stream_id)
        except DeliveryRefused as error:
            log.info("teams.stream_gone", why=str(error))

    async def _finish_refused(
        self, message: Message, stream_id: str, activity: Json, error: DeliveryRefused
    ) -> str:
        """Post the message after Teams refused it as the end of a stream."""
        why = error.why if isinstance(error, StreamRefused) else "refused"
        log.info("teams.stream_ended", interaction_id=message.interaction_id, why=why)
        if why == "stopped":
            await self._withdraw(message)
            raise error
        if why == "completed":
            return stream_id
        if not isinstance(error, Gone):
            try:
                await self._client.update(message.reply_to, stream_id, activity)
            except (ContentRefused, BotRemoved):
                raise
            except DeliveryRefused as refusal:
                log.info("teams.stream_not_edited", why=str(refusal))
            else:
                return stream_id
        return await self._client.send(message.reply_to, activity)

    async def _withdraw(self, message: Message) -> None:
        if self._stopped is not None:
            with suppress(InteractionUnknown):
                await self._stopped(message.interaction_id)


def _update_activity(words: str, *, sequence: int, stream_id: str = "") -> Json:
    info = {"type": "streaminfo", "streamType": "informative", "streamSequence": sequence}
    known = {"streamId": stream_id} if stream_id else {}
    return {"type": "typing", "text": words, "entities": [{**info, **known}]}


def _final_activity(activity: Json, stream_id: str) -> Json:
    entities = activity.get("entities")
    others: Sequence[object] = entities if isinstance(entities, list) else ()
    info = {"type": "streaminfo", "streamId": stream_id, "streamType": "final"}
    return {**activity, "entities": [*others, info]}
