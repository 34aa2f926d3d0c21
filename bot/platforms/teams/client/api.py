"""Call Teams: activities, members and personal chats, within its rate limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bot.domain.errors import DeliveryRefused, RateLimited, StoreUnavailable
from bot.platforms.teams.client.connector import Connector, ConnectorRequest
from bot.platforms.teams.client.conversations import Conversations, Removals
from bot.platforms.teams.client.errors import (
    BotRemoved,
    Gone,
    NotReached,
    Unavailable,
)
from bot.platforms.teams.client.rate_limits import (
    LOOKUP_LIMITS,
    SEND_LIMITS,
    RateLimit,
    RateLimiter,
    Timing,
)
from bot.platforms.teams.client.registration import TokenRefusal
from bot.platforms.teams.payloads.activity import (
    Body,
    Json,
    channel_in,
    conversation_in,
    object_at,
    objects_at,
    read_reference,
    reference_to,
    text_at,
)

_STREAM_ENTITY, _FINAL_STREAM = "streaminfo", "final"


_ADDRESS_FIELDS = {
    "channelId": "channelId",
    "serviceUrl": "serviceUrl",
    "locale": "locale",
    "conversation": "conversation",
    "from": "bot",
    "recipient": "user",
    "replyToId": "activityId",
}
"""Fields of an activity that a conversation reference gives, by its own field."""


def parsed_reference(reply_to: str) -> Body:
    """Return the parsed reference. Raises DeliveryRefused if it does not say where to answer."""
    reference = read_reference(reply_to)
    where = object_at(reference, "conversation")
    if not (text_at(reference, "serviceUrl") and isinstance(where.get("id"), str)):
        raise DeliveryRefused(f"{reply_to!r} does not say where to answer.")
    return reference


def addressed_activity(content: Json, reference: Body) -> Json:
    """Return an activity addressed to a conversation."""
    read = {field: reference.get(key) for field, key in _ADDRESS_FIELDS.items()}
    return {**content, **{field: value for field, value in read.items() if value}}


def ends_a_stream(content: Json) -> bool:
    """Return whether an activity ends a stream; Teams rejects a second one without any effect."""
    return any(
        text_at(each, "type") == _STREAM_ENTITY and text_at(each, "streamType") == _FINAL_STREAM
        for each in objects_at(content, "entities")
    )


PATIENCE_SECONDS = 2.0
"""Longest wait for a rate limit within a call; for longer waits the inbox retries."""

_TURN_SECONDS = 5.0
"""Longest wait for a slot in this process's own rate limits, for calls that may not be dropped."""

_FIRST_RETRY_SECONDS = 0.5

PAGE_SIZE = 500
"""Members per page; Teams returns at most as many, and sometimes fewer."""


@dataclass(frozen=True, slots=True)
class MembersPage:
    """A page of members; ``next_page`` is the token of the next page, "" after the last."""

    members: Sequence[Body]
    next_page: str = ""


class TeamsClient:
    """Client for outbound calls to Teams, with what is stored on how to reach people and channels.

    The target is a message's ``reply_to``, a conversation reference as JSON, which works in any
    process. All methods raise DeliveryFailed, Gone and DeliveryRefused. A call with a patience of 0
    is optional: it is dropped under load, so that calls that must be made find room.
    """

    def __init__(
        self,
        connector: Connector,
        *,
        conversations: Conversations,
        removals: Removals,
        timing: Timing,
    ) -> None:
        self.conversations = conversations
        self.removals = removals
        self._connector = connector
        self._rates = RateLimiter(timing)

    @property
    def trouble(self) -> TokenRefusal | None:
        """Return why the last token request failed, or None if it succeeded."""
        return self._connector.tokens.trouble

    async def sign_in(self) -> None:
        """Fetch a token anew. Raises NoToken."""
        await self._connector.tokens.fetch()

    async def close(self) -> None:
        """Close the connections to Teams."""
        await self._connector.close()

    async def send(
        self, reply_to: str, content: Json, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> str:
        """Send an activity to where a message came from; return the new activity's id.

        A reference without a message id posts to the conversation, not as a reply.
        """
        reference = parsed_reference(reply_to)
        activity = addressed_activity(content, reference)
        where, replied_to = conversation_in(reply_to), text_at(reference, "activityId")
        path = (where, "activities", replied_to) if replied_to else (where, "activities")
        response = await self._run(
            reply_to,
            ConnectorRequest("POST", path, activity),
            patience_seconds,
            repeatable=ends_a_stream(content),
            posts=True,
        )
        return text_at(response, "id")

    async def update(
        self,
        reply_to: str,
        activity_id: str,
        content: Json,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Replace an activity; idempotent. Raises Gone."""
        activity = addressed_activity({**content, "id": activity_id}, parsed_reference(reply_to))
        path = (conversation_in(reply_to), "activities", activity_id)
        await self._run(
            reply_to,
            ConnectorRequest("PUT", path, activity),
            patience_seconds,
            repeatable=True,
            posts=True,
        )

    async def delete(self, reply_to: str, activity_id: str) -> None:
        """Delete an activity. Raises Gone, but not where an earlier try may have deleted it."""
        path = (conversation_in(reply_to), "activities", activity_id)
        await self._run(reply_to, ConnectorRequest("DELETE", path), repeatable=True)

    async def member(self, reply_to: str, user_id: str) -> Body:
        """Return the member with a connector id (29:…) in the conversation. Raises Gone."""
        path = (channel_in(reply_to), "members", user_id)
        return await self._run(
            reply_to, ConnectorRequest("GET", path), limits=LOOKUP_LIMITS, repeatable=True
        )

    async def members(self, reply_to: str, page: str = "") -> MembersPage:
        """Return a page of the members of a reference's conversation."""
        query = {"pageSize": str(PAGE_SIZE), **({"continuationToken": page} if page else {})}
        request = ConnectorRequest("GET", (channel_in(reply_to), "pagedmembers"), query=query)
        answer = await self._run(reply_to, request, limits=LOOKUP_LIMITS, repeatable=True)
        return MembersPage(objects_at(answer, "members"), text_at(answer, "continuationToken"))

    async def open_chat(self, person_id: str, *, user_id: str) -> str:
        """Return a reference to a person's personal chat, created if there is none.

        ``user_id`` is the connector's id (29:…). Raises DeliveryRefused if the person has not added
        the app, StoreUnavailable.
        """
        known = await self.conversations.chat_with(person_id)
        if known is not None:
            return known
        service = await self.conversations.service()
        reference = read_reference(service)
        wanted: Json = {
            "isGroup": False,
            "bot": {"id": text_at(reference, "bot", "id")},
            "members": [{"id": user_id}],
            "channelData": {"tenant": {"id": text_at(reference, "conversation", "tenantId")}},
        }
        # Repeatable: Teams returns the chat that is there already.
        created = await self._run(
            service,
            ConnectorRequest("POST", body=wanted),
            limits=LOOKUP_LIMITS,
            repeatable=True,
        )
        chat = text_at(created, "id")
        if not chat:
            raise DeliveryRefused("Teams did not say where the chat is.")
        await self.conversations.keep_chat(person_id, chat, rewrite=True)
        return reference_to(service, chat, kind="personal")

    async def _run(
        self,
        reply_to: str,
        request: ConnectorRequest,
        patience: float = PATIENCE_SECONDS,
        *,
        limits: tuple[RateLimit, ...] = SEND_LIMITS,
        repeatable: bool = False,
        posts: bool = False,
    ) -> Body:
        """Make a call within the rate limits; retry while patience lasts and a retry is safe.

        ``repeatable``: the call is idempotent. ``posts``: it posts a message. Not called for a
        conversation that the bot was removed from; a removal is recorded.
        """
        service_url = text_at(parsed_reference(reply_to), "serviceUrl")
        where = channel_in(reply_to)
        if where and await self.removals.is_removed(where):
            raise BotRemoved(
                f"The bot was removed from {where!r}, or is blocked there.", lasting=True
            )
        try:
            return await self._repeated(
                where,
                lambda: self._connector.call(service_url, request),
                patience,
                limits=limits,
                repeatable=repeatable,
                gone_is_done=request.method == "DELETE",
            )
        except BotRemoved as error:
            if posts and error.lasting:
                with suppress(StoreUnavailable):
                    await self.removals.mark_removed(where, str(error))
            raise

    async def _repeated(
        self,
        where: str,
        call: Callable[[], Awaitable[Body]],
        patience: float,
        *,
        limits: tuple[RateLimit, ...],
        repeatable: bool,
        gone_is_done: bool,
    ) -> Body:
        """``gone_is_done``: after a lost response, Gone says that the earlier try was effective."""
        now, left, pause = self._rates.now(), patience, _FIRST_RETRY_SECONDS
        may_be_done = False
        while True:
            turn = _TURN_SECONDS if patience else 0.0
            now = await self._rates.acquire(where, limits, now=now, patience_seconds=turn)
            try:
                return await call()
            except Gone:
                if may_be_done and gone_is_done:
                    return {}
                raise
            except (RateLimited, NotReached, Unavailable) as error:
                may_be_done = may_be_done or isinstance(error, Unavailable)
                wait = max(error.retry_after_seconds or 0.0, pause)
                now, limited = self._rates.now(now), isinstance(error, RateLimited)
                if limited:
                    self._rates.hold(where, limits, until=now + wait)
                if wait > left or not (limited or repeatable):
                    raise
                left, pause = left - wait, 2 * pause
                now = await self._rates.wait(wait, now=now)
