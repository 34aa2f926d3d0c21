"""Replies where they were asked for: all of a reply is seen once, as far as Teams allows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from bot.adapters.teams.calling.connector import Connector
from bot.adapters.teams.calling.errors import Gone
from bot.adapters.teams.showing.parts import REPLY, Parts
from bot.adapters.teams.showing.render import answer_activities
from bot.adapters.teams.showing.sensitivity import UNMARKED, Sensitivity
from bot.adapters.teams.showing.streams import Streams, stream_in
from bot.adapters.teams.wire.body import Json
from bot.types import Delivery, Message, PostedRef

log = structlog.get_logger(__name__)


class Replies:
    """Shows and takes back what answers a question.

    Teams cannot be asked what was posted, so the first activity goes into the placeholder, and
    doing that twice is the same as once. What is beyond the size of one activity goes on in further
    ones, after the first is visible; a repetition adds only those that are missing. The posted
    reference names the first, which carries the thumbs.
    """

    def __init__(
        self,
        connector: Connector,
        streams: Streams,
        parts: Parts,
        *,
        sensitivity: Sensitivity = UNMARKED,
    ) -> None:
        self._connector = connector
        self._streams = streams
        self._parts = parts
        self._sensitivity = sensitivity

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Show what is not there yet. Raises DeliveryFailed, StoreUnavailable."""
        message, shown = delivery.message, self._shown(delivery)
        several = len(shown) > 1
        posted = [*await self._parts.of(message, REPLY, several=several)]
        for activity in shown[len(posted) :]:
            where = delivery.placeholder if not posted else None
            posted.append(await self._post(message, activity, where))
            # At once: somebody may react to what is seen before all of it is there.
            await self._parts.keep(message, REPLY, posted, several=several)
        return PostedRef(message.thread.channel, posted[0])

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete what is recorded, and what else is known of it."""
        here = [ref.id for ref in posted if not stream_in(ref)]
        ended = {*here, *(everything := await self._parts.all_of(message))}
        for stream in dict.fromkeys(filter(None, map(stream_in, posted))):
            if stream not in ended:
                await self._streams.drop(message, stream)
        for activity_id in dict.fromkeys([*here, *everything]):
            with suppress(Gone):
                await self._connector.delete(message.reply_to, activity_id)

    async def _post(self, message: Message, activity: Json, where: PostedRef | None) -> str:
        """Show an activity; return its id. A placeholder that its reader deleted is left."""
        if stream := stream_in(where):
            return await self._streams.finish(message, stream, activity)
        if where is not None:
            try:
                await self._connector.update(message.reply_to, where.id, activity)
            except Gone:
                log.info("teams.placeholder_gone", interaction_id=message.interaction_id)
            else:
                return where.id
        return await self._connector.send(message.reply_to, activity)

    def _shown(self, delivery: Delivery) -> tuple[Json, ...]:
        return answer_activities(
            delivery.outcome,
            delivery.message,
            now=datetime.now(UTC),
            sensitivity=self._sensitivity,
        )
