"""Post replies where they were asked for, without duplicates as far as Teams allows.

The ids of a reply's activities are stored, so that it can be continued or deleted.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from bot.domain.errors import DeliveryFailed, DeliveryRefused, RateLimited, StoreUnavailable
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Notes
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.errors import (
    ContentRefused,
    Gone,
    NoToken,
    NotPermitted,
    NotReached,
)
from bot.platforms.teams.messages.streams import Streams, stream_id_of
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.answer_cards import answer_card
from bot.platforms.teams.rendering.answers import answer_activities
from bot.platforms.teams.rendering.cards import (
    joined_form,
    keys_of,
    marked_as_repeated,
    plain_form,
    refused_notice,
)
from bot.platforms.teams.rendering.labels import NO_SENSITIVITY, Sensitivity
from rag.types import BoundedDict

REPLY = "reply"
"""Name of the answer to a question, beside the ids of notices."""

WHOLE = "whole"
"""Name of an answer that is one message together with its buttons."""

_REMEMBERED = 1_000

log = structlog.get_logger(__name__)


class PostedActivities:
    """Stores ids of posted activities, in order, by question and by name of the reply or notice.

    This process caches them all. Those of replies with several activities are also written to
    notes, for other processes.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._posted = BoundedDict[tuple[InteractionId, str], tuple[str, ...]](_REMEMBERED)

    async def ids_of(self, message: Message, name: str, *, several: bool) -> tuple[str, ...]:
        """Return the posted ids of a reply or notice. Raises StoreUnavailable.

        The notes are read only with ``several``: replies of one activity are not written there.
        """
        posted = self._posted.get((message.interaction_id, name), ())
        if posted or not several:
            return posted
        return _read_ids(
            await self._notes.get(message.thread.tenant, _activities_key(message, name))
        )

    async def store(
        self, message: Message, name: str, posted: Sequence[str], *, several: bool
    ) -> None:
        """Store the ids posted so far; if the notes fail, this process still has them."""
        self._posted[message.interaction_id, name] = tuple(posted)
        if several:
            await self._note(message, _activities_key(message, name), json.dumps(list(posted)))
            await self._note(
                message, _question_key(message.thread.channel, posted[-1]), message.interaction_id
            )

    async def all_ids_of(self, message: Message) -> tuple[str, ...]:
        """Return all known posted ids of a question, including notices.

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
        """Return the question of an activity; None if it is not stored as one of several.

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


def _activities_key(message: Message, name: str) -> str:
    return f"teams:parts:{message.interaction_id}:{name}"


def _question_key(channel: str, activity_id: str) -> str:
    return f"teams:part:{channel}:{activity_id}"


def _read_ids(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


_Post = Callable[[Delivery, Json, PostedRef | None], Awaitable[str]]
"""Posts an activity of a delivery, in the place of what is there if it is given."""

_NOTHING_DONE = (RateLimited, DeliveryRefused, NotPermitted, NoToken, NotReached)


class Replies:
    """Posts and deletes the answer to a question.

    Teams can't be searched. Ending a stream is idempotent, and ends it with the answer and
    its buttons in one message. Where others read along, the answer is posted as one card. With
    ``split_cards``, or if Teams refuses that, text and buttons are two messages. A post is repeated
    after an attempt with an unknown result, marked as a possible duplicate. An answer too large for
    one activity continues in further ones; a retry posts only the missing ones. The returned
    reference is that of the first, which has the feedback buttons.
    """

    def __init__(
        self,
        client: TeamsClient,
        streams: Streams,
        posted_activities: PostedActivities,
        *,
        sensitivity: Sensitivity = NO_SENSITIVITY,
        split_cards: bool = False,
    ) -> None:
        self._client = client
        self._split_cards = split_cards
        self._streams = streams
        self._posted_activities = posted_activities
        self._sensitivity = sensitivity
        self._doubtful = BoundedDict[InteractionId, bool](_REMEMBERED)

    def mark_unposted(self, message: Message) -> None:
        """Mark a question as new in this process: nothing of its answer is posted yet."""
        self._doubtful.setdefault(message.interaction_id, False)

    def mark_maybe_posted(self, message: Message) -> None:
        """Mark an answer as possibly posted, unless this process already has a mark."""
        self._doubtful.setdefault(message.interaction_id, True)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post the missing activities of an answer. Raises DeliveryFailed, StoreUnavailable.

        After DeliveryRefused the progress message is removed, as far as Teams allows.
        """
        message, shown = delivery.message, self._activities_of(delivery)
        several = len(shown) > 1
        posted = [*await self._posted_activities.ids_of(message, REPLY, several=several)]
        if whole := await self._posted_whole(delivery, shown, posted):
            return PostedRef(message.thread.channel, whole)
        for activity in shown[len(posted) :]:
            if posted and plain_form(activity) is None:
                posted += await self._post_buttons(message, activity)
            elif posted:
                posted.append(await self._post_or_simplify(delivery, activity, None))
            else:
                posted.append(await self._post_once(delivery, activity, self._post_or_simplify))
            # Store the id at once: people may react to a part before all are posted.
            await self._posted_activities.store(message, REPLY, posted, several=several)
        return PostedRef(message.thread.channel, posted[0])

    def _activities_of(self, delivery: Delivery) -> Sequence[Json]:
        return answer_activities(
            delivery.outcome, delivery.message, now=datetime.now(UTC), sensitivity=self._sensitivity
        )

    async def _posted_whole(
        self, delivery: Delivery, shown: Sequence[Json], posted: Sequence[str]
    ) -> str:
        """Post an answer with its buttons in one message, unless it is there; return its id.

        "" where the setting or the size forbids it, Teams refuses it, or parts are posted already.
        """
        message, stream = delivery.message, stream_id_of(delivery.placeholder)
        whole = joined_form(shown) if stream else self._card_of(delivery)
        if posted or whole is None or self._split_cards:
            return ""
        for known in await self._posted_activities.ids_of(message, WHOLE, several=not stream):
            return known
        if stream:
            ended = await self._streams.end_with(message, stream, whole)
            there = stream if ended else ""
        else:
            there = await self._post_card(delivery, whole)
        if there:
            await self._posted_activities.store(message, WHOLE, [there], several=not stream)
        return there

    async def _post_card(self, delivery: Delivery, shown: Json) -> str:
        """Post an answer as one card; "" if Teams refuses that."""
        try:
            return await self._post_once(delivery, shown, self._post_as_it_is)
        except ContentRefused as error:
            _log_refused(delivery.message, shown, error)
            return ""

    def _card_of(self, delivery: Delivery) -> Json | None:
        """Return the card of an answer where others read along."""
        if self._split_cards or delivery.message.private:
            return None
        return answer_card(
            delivery.outcome, delivery.message, now=datetime.now(UTC), sensitivity=self._sensitivity
        )

    async def correct(self, delivery: Delivery, posted: PostedRef) -> None:
        """Edit the activities of a posted answer, and delete those that it has no more.

        Raises DeliveryFailed; DeliveryRefused where it would have more than were posted.
        """
        message, shown = delivery.message, self._activities_of(delivery)
        known = await self._posted_activities.ids_of(message, REPLY, several=True)
        there = known or (posted.id,)
        whole = self._card_of(delivery) or joined_form(shown)
        if len(there) == 1 and whole:
            await self._edit_whole(message, there[0], whole, shown[0])
            return
        if len(there) < len(shown):
            raise DeliveryRefused(f"Of {len(shown)} activities {len(there)} are known.")
        for activity_id, activity in zip(there, shown, strict=False):
            await self._client.update(message.reply_to, activity_id, activity)
        for activity_id in there[len(shown) :]:
            with suppress(Gone):
                await self._client.delete(message.reply_to, activity_id)

    async def _edit_whole(
        self, message: Message, activity_id: str, joined: Json, without_card: Json
    ) -> None:
        """Edit a message that has its card with it; where Teams refuses that, into text alone."""
        try:
            await self._client.update(message.reply_to, activity_id, joined)
        except ContentRefused as error:
            _log_refused(message, joined, error)
            await self._client.update(message.reply_to, activity_id, without_card)

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete the recorded posts, and all other known posts of a question."""
        here = [ref.id for ref in posted if not stream_id_of(ref)]
        ended = {*here, *(everything := await self._posted_activities.all_ids_of(message))}
        for stream in dict.fromkeys(filter(None, map(stream_id_of, posted))):
            if stream not in ended:
                await self._streams.drop(message, stream)
        for activity_id in dict.fromkeys([*here, *everything]):
            with suppress(Gone):
                await self._client.delete(message.reply_to, activity_id)

    async def close(self, message: Message, placeholder: PostedRef) -> None:
        """Remove the progress message or stream of a question that will get no reply.

        Raises DeliveryFailed.
        """
        if stream := stream_id_of(placeholder):
            await self._streams.drop(message, stream)
            return
        with suppress(Gone):
            await self._client.delete(message.reply_to, placeholder.id)

    async def _post_once(self, delivery: Delivery, activity: Json, post: _Post) -> str:
        """Post the first activity of an answer, in the place of its placeholder if there is one.

        Without a placeholder it is marked if it may be there already.
        """
        message, where = delivery.message, delivery.placeholder
        if where is not None:
            return await post(delivery, activity, where)
        shown = (
            marked_as_repeated(activity) if self._doubtful.get(message.interaction_id) else activity
        )
        try:
            return await post(delivery, shown, None)
        except DeliveryFailed as error:
            if not isinstance(error, _NOTHING_DONE):
                self._doubtful[message.interaction_id] = True
            raise

    async def _post_or_simplify(
        self, delivery: Delivery, activity: Json, where: PostedRef | None
    ) -> str:
        """Post an activity, in plain form if Teams rejects its content; return its id.

        If Teams rejects that too, a short notice is posted and DeliveryRefused raised.
        """
        message = delivery.message
        try:
            return await self._post(message, activity, where)
        except ContentRefused as error:
            _log_refused(message, activity, error)
            plain = plain_form(activity, shorten=error.too_long)
        try:
            return await self._post_plain(message, plain or activity, where)
        except ContentRefused as error:
            _log_refused(message, plain or activity, error)
            await self._post_notice(delivery, where)
            raise

    async def _post_plain(self, message: Message, activity: Json, where: PostedRef | None) -> str:
        """Post an activity in its place; as a new message if the stream can't end with it."""
        try:
            return await self._post(message, activity, where)
        except ContentRefused:
            stream = stream_id_of(where)
            if not stream:
                raise
        posted = await self._client.send(message.reply_to, activity)
        with suppress(DeliveryFailed):
            await self._streams.drop(message, stream)
        return posted

    async def _post_notice(self, delivery: Delivery, where: PostedRef | None) -> None:
        """Post a short notice instead of a rejected answer; at least remove the placeholder."""
        message = delivery.message
        try:
            if not message.overheard:
                await self._post_plain(message, refused_notice(delivery), where)
        except DeliveryRefused as error:
            log.warning(
                "teams.nothing_taken", interaction_id=message.interaction_id, why=str(error)
            )
            if where is not None:
                with suppress(DeliveryFailed):
                    await self.close(message, where)

    async def _post_buttons(self, message: Message, activity: Json) -> Sequence[str]:
        """Post the buttons below an answer; return their id, or nothing if it is unknown.

        Not retried after an unknown result: the answer is posted, and text can replace the buttons.
        Raises DeliveryFailed only if Teams did nothing and may accept them later.
        """
        try:
            return [await self._client.send(message.reply_to, activity)]
        except DeliveryFailed as error:
            if isinstance(error, _NOTHING_DONE) and not isinstance(error, DeliveryRefused):
                raise
            _log_refused(message, activity, error)
            return []

    async def _post_as_it_is(
        self, delivery: Delivery, activity: Json, where: PostedRef | None
    ) -> str:
        return await self._post(delivery.message, activity, where)

    async def _post(self, message: Message, activity: Json, where: PostedRef | None) -> str:
        """Post an activity; return its id.

        If the reader deleted the placeholder, a new message is posted.
        """
        if stream := stream_id_of(where):
            return await self._streams.finish(message, stream, activity)
        if where is not None:
            try:
                await self._client.update(message.reply_to, where.id, activity)
            except Gone:
                log.info("teams.placeholder_gone", interaction_id=message.interaction_id)
            else:
                return where.id
        return await self._client.send(message.reply_to, activity)


def _log_refused(message: Message, activity: Json, error: DeliveryFailed) -> None:
    log.warning(
        "teams.not_taken",
        interaction_id=message.interaction_id,
        shape=keys_of(activity),
        why=str(error),
    )
