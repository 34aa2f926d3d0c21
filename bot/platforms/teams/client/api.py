"""Call Teams through botbuilder's connector client: activities, members and personal chats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from botbuilder.core import TurnContext
from botbuilder.schema import (
    Activity,
    ChannelAccount,
    ConversationParameters,
    ConversationReference,
)
from msrest.exceptions import ClientException

from bot.domain.errors import DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.platforms.teams.client.connections import (
    TIMEOUT_SECONDS,
    CachedCredentials,
    ConnectorClients,
)
from bot.platforms.teams.client.conversations import Conversations, Removals
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
from bot.platforms.teams.client.registration import Cloud, TokenRefusal
from bot.platforms.teams.payloads.activity import (
    Body,
    Json,
    channel_in,
    objects_at,
    read_reference,
    reference_to,
    text_at,
)

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
    return any(
        text_at(each, "type") == _STREAM_ENTITY and text_at(each, "streamType") == _FINAL_STREAM
        for each in objects_at(content, "entities")
    )


_ConversationsCall = Callable[[Any], Awaitable[Any]]
"""A call of botbuilder's ``conversations`` operations."""

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
        connectors: ConnectorClients,
        credentials: CachedCredentials,
        *,
        conversations: Conversations,
        removals: Removals,
        app_id: str,
        timing: Timing,
    ) -> None:
        self.conversations = conversations
        self.removals = removals
        self._connectors = connectors
        self._credentials = credentials
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
        where, replied_to = activity.conversation.id, activity.reply_to_id

        def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            if not replied_to:
                return conversations.send_to_conversation(where, activity)
            return conversations.reply_to_activity(where, replied_to, activity)

        ends = ends_a_stream(content)
        response = await self._run(reply_to, act, patience_seconds, repeatable=ends, posts=True)
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
        where = activity.conversation.id
        await self._run(
            reply_to,
            lambda conversations: conversations.update_activity(where, activity_id, activity),
            patience_seconds,
            repeatable=True,
            posts=True,
        )

    async def delete(self, reply_to: str, activity_id: str) -> None:
        """Delete an activity. Raises Gone."""
        where = parsed_reference(reply_to).conversation.id
        await self._run(
            reply_to,
            lambda conversations: conversations.delete_activity(where, activity_id),
            repeatable=True,
        )

    async def member(self, reply_to: str, user_id: str) -> Body:
        """Return the member with a connector id (29:…) in the conversation. Raises Gone."""
        where = channel_in(reply_to)
        found = await self._run(
            reply_to,
            lambda conversations: conversations.get_conversation_member(where, user_id),
            limits=LOOKUP_LIMITS,
        )
        return _member_body(found)

    async def members(self, reply_to: str, page: str = "") -> MembersPage:
        """Return a page of the members of a reference's conversation."""
        where, token = channel_in(reply_to), page or None
        answer = await self._run(
            reply_to,
            lambda conversations: conversations.get_conversation_paged_members(
                where, PAGE_SIZE, token
            ),
            limits=LOOKUP_LIMITS,
        )
        members = [_member_body(each) for each in getattr(answer, "members", None) or ()]
        return MembersPage(members, str(getattr(answer, "continuation_token", None) or ""))

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
        wanted = ConversationParameters(
            is_group=False,
            bot=ChannelAccount(id=text_at(reference, "bot", "id")),
            members=[ChannelAccount(id=user_id)],
            # botbuilder sends its own field as "tenantID", which Teams ignores.
            channel_data={"tenant": {"id": text_at(reference, "conversation", "tenantId")}},
        )
        created = await self._run(
            service,
            lambda conversations: conversations.create_conversation(wanted),
            limits=LOOKUP_LIMITS,
        )
        chat = str(getattr(created, "id", None) or "")
        if not chat:
            raise DeliveryRefused("Teams did not say where the chat is.")
        await self.conversations.keep_chat(person_id, chat, rewrite=True)
        return reference_to(service, chat, kind="personal")

    async def _run(
        self,
        reply_to: str,
        act: _ConversationsCall,
        patience: float = PATIENCE_SECONDS,
        *,
        limits: tuple[RateLimit, ...] = SEND_LIMITS,
        repeatable: bool = False,
        posts: bool = False,
    ) -> Any:  # noqa: ANN401  # botbuilder has no types
        """Make a call within the rate limits; retry while patience lasts and a retry is safe.

        ``repeatable``: the call is idempotent. ``posts``: it posts a message. Not called for a
        conversation that the bot was removed from; a removal is recorded.
        """
        reference, where = parsed_reference(reply_to), channel_in(reply_to)
        if where and await self.removals.is_removed(where):
            raise BotRemoved(
                f"The bot was removed from {where!r}, or is blocked there.", lasting=True
            )
        now, left, pause = self._rates.now(), patience, _FIRST_RETRY_SECONDS
        while True:
            turn = _TURN_SECONDS if patience else 0.0
            now = await self._rates.acquire(where, limits, now=now, patience_seconds=turn)
            try:
                return await self._call_once(reference, act)
            except BotRemoved as error:
                if posts and error.lasting:
                    with suppress(StoreUnavailable):
                        await self.removals.mark_removed(where, str(error))
                raise
            except (RateLimited, Unavailable) as error:
                wait = max(error.retry_after_seconds or 0.0, pause)
                now, limited = self._rates.now(now), isinstance(error, RateLimited)
                if limited:
                    self._rates.hold(where, limits, until=now + wait)
                if wait > left or not (limited or repeatable):
                    raise
                left, pause = left - wait, 2 * pause
                now = await self._rates.wait(wait, now=now)

    async def _call_once(self, reference: ConversationReference, act: _ConversationsCall) -> Any:  # noqa: ANN401
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                conversations = await self._connectors.conversations(reference.service_url)
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


def _member_body(account: Any) -> Body:  # noqa: ANN401  # botbuilder has no types
    """Return a member's JSON; botbuilder puts fields it does not define in a separate dict."""
    extra: Mapping[str, object] = getattr(account, "additional_properties", None) or {}
    known = {"id": "id", "name": "name", "aadObjectId": "aad_object_id"}
    return {**extra, **{key: getattr(account, field, None) for key, field in known.items()}}
