"""Post replies where they were asked for: all of a reply is seen once, as far as Teams allows.

The ids of a reply's activities are kept, for whoever continues it or takes it back.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from bot.domain.errors import DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Notes
from bot.platforms.teams.client.connector import Connector
from bot.platforms.teams.client.errors import (
    ContentRefused,
    Gone,
    NoToken,
    NotPermitted,
    RateLimited,
)
from bot.platforms.teams.messages.streams import Streams, stream_id_of
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.answers import answer_activities
from bot.platforms.teams.rendering.labels import NO_SENSITIVITY, Sensitivity
from bot.platforms.teams.rendering.plain_text import (
    keys_of,
    marked_as_repeated,
    plain_form,
    refused_notice,
)

REPLY = "reply"
"""The name of what answers a question, beside the ids of notices."""

_REMEMBERED = 1_000

log = structlog.get_logger(__name__)


class PostedActivities:
    """Keeps the ids of activities in their order, by question and by what they belong to.

    This process remembers them all. Those of what has several are noted as well, so that any
    process finds them.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._posted: OrderedDict[tuple[InteractionId, str], tuple[str, ...]] = OrderedDict()

    async def of(self, message: Message, name: str, *, several: bool) -> tuple[str, ...]:
        """Return what is posted of a reply or notice. Raises StoreUnavailable.

        Only of what has ``several`` parts another process can know more.
        """
        posted = self._posted.get((message.interaction_id, name), ())
        if posted or not several:
            return posted
        return _read_ids(
            await self._notes.get(message.thread.tenant, _activities_key(message, name))
        )

    async def keep(
        self, message: Message, name: str, posted: Sequence[str], *, several: bool
    ) -> None:
        """Keep what is posted so far; what can't be noted, this process knows all the same."""
        self._remember(message.interaction_id, name, tuple(posted))
        if several:
            await self._note(message, _activities_key(message, name), json.dumps(list(posted)))
            await self._note(
                message, _question_key(message.thread.channel, posted[-1]), message.interaction_id
            )

    async def all_of(self, message: Message) -> tuple[str, ...]:
        """Return everything that is known to be posted about a question, notices among it.

        Raises StoreUnavailable.
        """
        noted = await self._notes.beginning(message.thread.tenant, _activities_key(message, ""))
        here = [
            activity_id
            for (interaction_id, _), posted in self._posted.items()
            if interaction_id == message.interaction_id
            for activity_id in posted
        ]
        there = [activity_id for text in noted.values() for activity_id in _read_ids(text)]
        return tuple(dict.fromkeys([*here, *there]))

    async def question_of(
        self, tenant: str, channel: str, activity_id: str
    ) -> InteractionId | None:
        """Return what a part is about; None for what is no part of several.

        Raises StoreUnavailable.
        """
        noted = await self._notes.get(tenant, _question_key(channel, activity_id))
        return InteractionId(noted) if noted else None

    async def _note(self, message: Message, key: str, text: str) -> None:
        about = message.interaction_id
        try:
            await self._notes.put(message.thread.tenant, key, text, interaction_id=about)
        except StoreUnavailable as error:
            log.warning("teams.part_not_noted", interaction_id=about, why=str(error))

    def _remember(self, about: InteractionId, name: str, posted: tuple[str, ...]) -> None:
        self._posted[about, name] = posted
        self._posted.move_to_end((about, name))
        while len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)


def _activities_key(message: Message, name: str) -> str:
    return f"teams:parts:{message.interaction_id}:{name}"


def _question_key(channel: str, activity_id: str) -> str:
    return f"teams:part:{channel}:{activity_id}"


def _read_ids(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


_NOTHING_DONE = (RateLimited, DeliveryRefused, NotPermitted, NoToken)


class Replies:
    """Shows and takes back what answers a question.

    Teams cannot be asked what was posted. The end of a stream may be repeated: it is the same as
    once. Elsewhere the answer is posted, and again after a post whose end nobody saw; then it says
    that it may stand there twice. What is beyond the size of one activity goes on in further ones;
    a repetition adds only those that are missing. The posted reference names the first, which
    carries the thumbs.
    """

    def __init__(
        self,
        connector: Connector,
        streams: Streams,
        parts: PostedActivities,
        *,
        sensitivity: Sensitivity = NO_SENSITIVITY,
    ) -> None:
        self._connector = connector
        self._streams = streams
        self._parts = parts
        self._sensitivity = sensitivity
        self._doubtful: OrderedDict[InteractionId, bool] = OrderedDict()

    def begun(self, message: Message) -> None:
        """Note that this process sees a question before anything of its answer was posted."""
        self._doubt(message, before=False)

    def begun_elsewhere(self, message: Message) -> None:
        """Note that an answer may be there, unless this process knows more of it."""
        self._doubt(message, before=True)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Show what is not there yet. Raises DeliveryFailed, StoreUnavailable.

        After DeliveryRefused nothing says any more that the question is worked on, as far as Teams
        takes anything.
        """
        message, shown = delivery.message, self._shown(delivery)
        several = len(shown) > 1
        posted = [*await self._parts.of(message, REPLY, several=several)]
        for activity in shown[len(posted) :]:
            if posted and _has_only_buttons(activity):
                posted += await self._buttons(message, activity)
            elif posted:
                posted.append(await self._put(delivery, activity, None))
            else:
                posted.append(await self._first(delivery, activity))
            # At once: somebody may react to what is seen before all of it is there.
            await self._parts.keep(message, REPLY, posted, several=several)
        return PostedRef(message.thread.channel, posted[0])

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete what is recorded, and what else is known of it."""
        here = [ref.id for ref in posted if not stream_id_of(ref)]
        ended = {*here, *(everything := await self._parts.all_of(message))}
        for stream in dict.fromkeys(filter(None, map(stream_id_of, posted))):
            if stream not in ended:
                await self._streams.drop(message, stream)
        for activity_id in dict.fromkeys([*here, *everything]):
            with suppress(Gone):
                await self._connector.delete(message.reply_to, activity_id)

    async def close(self, message: Message, placeholder: PostedRef) -> None:
        """Remove what says that a question is worked on; there will be no reply.

        Raises DeliveryFailed.
        """
        if stream := stream_id_of(placeholder):
            await self._streams.drop(message, stream)
            return
        with suppress(Gone):
            await self._connector.delete(message.reply_to, placeholder.id)

    async def _first(self, delivery: Delivery, activity: Json) -> str:
        """Show what an answer begins with, where its placeholder is; elsewhere it is posted."""
        message, where = delivery.message, delivery.placeholder
        if where is not None:
            return await self._put(delivery, activity, where)
        shown = (
            marked_as_repeated(activity) if self._doubtful.get(message.interaction_id) else activity
        )
        try:
            return await self._put(delivery, shown, None)
        except DeliveryFailed as error:
            if not isinstance(error, _NOTHING_DONE):
                self._doubtful[message.interaction_id] = True
            raise

    async def _put(self, delivery: Delivery, activity: Json, where: PostedRef | None) -> str:
        """Show an activity, in its plainest form where Teams refuses it; return its id.

        Where it refuses that too, a line says so instead. Raises DeliveryRefused then.
        """
        message = delivery.message
        try:
            return await self._post(message, activity, where)
        except ContentRefused as error:
            _log_refused(message, activity, error)
            plain = plain_form(activity, shorten=error.too_long)
        try:
            return await self._plainly(message, plain or activity, where)
        except ContentRefused as error:
            _log_refused(message, plain or activity, error)
            await self._say_so(delivery, where)
            raise

    async def _plainly(self, message: Message, activity: Json, where: PostedRef | None) -> str:
        """Show an activity where it belongs; beside a stream that nothing of it ends."""
        try:
            return await self._post(message, activity, where)
        except ContentRefused:
            stream = stream_id_of(where)
            if not stream:
                raise
        posted = await self._connector.send(message.reply_to, activity)
        with suppress(DeliveryFailed):
            await self._streams.drop(message, stream)
        return posted

    async def _say_so(self, delivery: Delivery, where: PostedRef | None) -> None:
        """Put a line in the place of an answer that Teams does not take; at least remove that."""
        message = delivery.message
        try:
            if not message.overheard:
                await self._plainly(message, refused_notice(delivery), where)
        except DeliveryRefused as error:
            log.warning(
                "teams.nothing_taken", interaction_id=message.interaction_id, why=str(error)
            )
            if where is not None:
                with suppress(DeliveryFailed):
                    await self.close(message, where)

    async def _buttons(self, message: Message, activity: Json) -> Sequence[str]:
        """Post the buttons below an answer; return their id, none where nobody knows it.

        They are not posted again: the answer is seen, and words do what they do. Raises
        DeliveryFailed only where Teams did nothing, and may do it later.
        """
        try:
            return [await self._connector.send(message.reply_to, activity)]
        except DeliveryFailed as error:
            if isinstance(error, _NOTHING_DONE) and not isinstance(error, DeliveryRefused):
                raise
            _log_refused(message, activity, error)
            return []

    async def _post(self, message: Message, activity: Json, where: PostedRef | None) -> str:
        """Show an activity; return its id. A placeholder that its reader deleted is left."""
        if stream := stream_id_of(where):
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

    def _doubt(self, message: Message, *, before: bool) -> None:
        self._doubtful.setdefault(message.interaction_id, before)
        while len(self._doubtful) > _REMEMBERED:
            self._doubtful.popitem(last=False)


def _has_only_buttons(activity: Json) -> bool:
    """Tell whether there is nothing to read in an activity, only to press."""
    return plain_form(activity) is None


def _log_refused(message: Message, activity: Json, error: DeliveryFailed) -> None:
    log.warning(
        "teams.not_taken",
        interaction_id=message.interaction_id,
        shape=keys_of(activity),
        why=str(error),
    )
