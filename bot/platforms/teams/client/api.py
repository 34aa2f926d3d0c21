"""Send, edit and delete activities in a conversation, through botbuilder's connector client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from botbuilder.core import TurnContext
from botbuilder.schema import Activity, ConversationReference
from msrest.exceptions import ClientException

from bot.domain.errors import DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.platforms.teams.client.connections import TIMEOUT_SECONDS, ConnectorClients
from bot.platforms.teams.client.errors import (
    BotRemoved,
    NoToken,
    RateLimited,
    Unavailable,
    failure_of,
)
from bot.platforms.teams.client.rate_limits import (
    LOOKUP_LIMITS,
    SEND_LIMITS,
    RateLimit,
    RateLimiter,
    Timing,
)
from bot.platforms.teams.client.registration import CachedCredentials, Cloud, TokenRefusal
from bot.platforms.teams.payloads.activity import Json, object_at, objects_at, room_in, text_at

_STREAM_ENTITY, _FINAL_STREAM = "streaminfo", "final"


def parsed_reference(reply_to: str) -> ConversationReference:
    """Return the parsed reference. Raises DeliveryRefused if it is invalid."""
    try:
        reference = ConversationReference().deserialize(json.loads(reply_to))
    except (ValueError, ClientException) as error:
        raise DeliveryRefused(f"{reply_to!r} is no conversation to answer in.") from error
    if not (reference.service_url and reference.conversation):
        raise DeliveryRefused(f"{reply_to!r} does not say where to answer.")
    return reference


def addressed_activity(content: Json, reference: ConversationReference) -> Activity:
    """Return an activity addressed to a conversation."""
    activity = Activity().deserialize({**content})
    # botbuilder's own method would set reply_to_id to the id of its synthetic turn.
    return TurnContext.apply_conversation_reference(activity, reference)


def ends_a_stream(content: Json) -> bool:
    """Return whether an activity ends a stream; Teams rejects a second one without any effect."""
    told = objects_at(object_at({"activity": content}, "activity"), "entities")
    return any(
        text_at(each, "type") == _STREAM_ENTITY and text_at(each, "streamType") == _FINAL_STREAM
        for each in told
    )


ConnectorCall = Callable[[Any], Awaitable[Any]]

PATIENCE_SECONDS = 2.0
"""Longest wait for a rate limit within a call; for longer waits the inbox retries."""

_TURN_SECONDS = 5.0
"""Longest wait for a slot in this process's own rate limits, for calls that may not be dropped."""

_FIRST_RETRY_SECONDS = 0.5


class KnowsAbsence(Protocol):
    """Stores the conversations that the bot was removed from."""

    async def is_gone(self, conversation: str) -> bool: ...

    async def gone(self, conversation: str, why: str) -> None:
        """Record a conversation as gone. Raises StoreUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class _Call:
    """A connector call: its conversation, its operation and its retry rules.

    ``repeatable``: the call is idempotent. ``posts``: it posts a message.
    """

    reply_to: str
    act: ConnectorCall
    patience: float
    spans: tuple[RateLimit, ...] = SEND_LIMITS
    repeatable: bool = False
    posts: bool = False

    @property
    def room(self) -> str:
        return room_in(self.reply_to)


class Connector:
    """Client for outbound calls to Teams.

    The target is a message's ``reply_to``, a conversation reference as JSON, which works in any
    process. All methods raise DeliveryFailed, Gone and DeliveryRefused. A call with a patience of 0
    is optional: it is dropped under load, so that calls that must be made find room.
    """

    def __init__(
        self,
        clients: ConnectorClients,
        credentials: CachedCredentials,
        absence: KnowsAbsence,
        *,
        app_id: str,
        timing: Timing,
    ) -> None:
        self._clients = clients
        self._credentials = credentials
        self._absence = absence
        self._app_id = app_id
        self._rates = RateLimiter(timing)

    @property
    def trouble(self) -> TokenRefusal | None:
        """Return why the last token request failed, or None if it succeeded."""
        return self._credentials.trouble

    async def sign_in(self, cloud: Cloud) -> None:
        """Fetch a token as the first reply would. Raises DeliveryFailed."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._credentials.create_credentials(
                    self._app_id, cloud.scope, cloud.login_url, validate_authority=True
                )
                await self._credentials.warm()
        except NoToken as error:
            raise DeliveryFailed(f"MICROSOFT_APP_ID={self._app_id!r}: {error}") from error
        except Exception as error:
            # botbuilder raises many types, among them PermissionError for a rejected secret.
            refused = self._credentials.refused(error)
            raise DeliveryFailed(f"MICROSOFT_APP_ID={self._app_id!r}: {refused}") from error

    async def send(
        self, reply_to: str, content: Json, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> str:
        """Send an activity to where a message came from; return the new activity's id.

        A reference without a message id posts to the conversation, not as a reply.
        """
        activity = addressed_activity(content, parsed_reference(reply_to))

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            there = activity.conversation.id
            if not activity.reply_to_id:
                return await conversations.send_to_conversation(there, activity)
            return await conversations.reply_to_activity(there, activity.reply_to_id, activity)

        ends = ends_a_stream(content)
        call = _Call(reply_to, act, patience_seconds, repeatable=ends, posts=True)
        response = await self._done(call)
        return str(getattr(response, "id", None) or "")

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

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            return await conversations.update_activity(
                activity.conversation.id, activity_id, activity
            )

        await self._done(_Call(reply_to, act, patience_seconds, repeatable=True, posts=True))

    async def delete(self, reply_to: str, activity_id: str) -> None:
        """Delete an activity. Raises Gone."""
        reference = parsed_reference(reply_to)

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            return await conversations.delete_activity(reference.conversation.id, activity_id)

        await self._done(_Call(reply_to, act, PATIENCE_SECONDS, repeatable=True))

    async def call(
        self,
        reply_to: str,
        act: ConnectorCall,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> Any:  # noqa: ANN401  # botbuilder has no types
        """Run ``act`` with botbuilder's ``conversations`` of the reference's service.

        Returns what ``act`` returns.
        """
        return await self._done(_Call(reply_to, act, patience_seconds, spans=LOOKUP_LIMITS))

    async def _done(self, call: _Call) -> Any:  # noqa: ANN401  # botbuilder has no types
        """Run a call unless the bot was removed from the conversation; record a removal."""
        reference, room = parsed_reference(call.reply_to), call.room
        if room and await self._absence.is_gone(room):
            raise BotRemoved(
                f"The bot was removed from {room!r}, or is blocked there.", lasting=True
            )
        try:
            return await self._patiently(call, reference)
        except BotRemoved as error:
            if call.posts and error.lasting:
                with suppress(StoreUnavailable):
                    await self._absence.gone(room, str(error))
            raise

    async def _patiently(self, call: _Call, reference: ConversationReference) -> Any:  # noqa: ANN401
        """Run a call within the rate limits; retry while patience lasts and a retry is safe."""
        now, left, pause = self._rates.now(), call.patience, _FIRST_RETRY_SECONDS
        while True:
            now = await self._rates.take(
                call.room,
                call.spans,
                now=now,
                patience_seconds=_TURN_SECONDS if call.patience else 0.0,
            )
            try:
                return await self._tried(reference, call.act)
            except (RateLimited, Unavailable) as error:
                wait = max(error.retry_after_seconds or 0.0, pause)
                now = self._rates.now(now)
                if isinstance(error, RateLimited):
                    self._rates.hold(call.room, call.spans, until=now + wait)
                elif not call.repeatable:
                    raise
                if wait > left:
                    raise
                left, pause = left - wait, 2 * pause
                now = await self._rates.wait(wait, now=now)

    async def _tried(self, reference: ConversationReference, act: ConnectorCall) -> Any:  # noqa: ANN401
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                conversations = await self._clients.conversations(reference.service_url)
                await self._credentials.warm()
                return await act(conversations)
        except DeliveryFailed:
            raise
        except ClientException as error:
            raise failure_of(error) from error
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not answer in time.") from error
        except Exception as error:
            # botbuilder raises many types.
            raise DeliveryFailed(f"Teams could not be asked: {type(error).__name__}.") from error
