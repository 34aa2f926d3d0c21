"""Sends, edits and deletes in a conversation, through botbuilder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from botbuilder.core import BotAdapter, TurnContext
from botbuilder.integration.aiohttp import CloudAdapter
from botbuilder.schema import Activity, ConversationReference
from msrest.exceptions import ClientException

from bot.adapters.teams.calling.answers import failure
from bot.adapters.teams.calling.cloud import Cloud
from bot.adapters.teams.calling.credentials import CachedCredentials
from bot.adapters.teams.calling.errors import Busy
from bot.adapters.teams.wire.body import Json
from bot.errors import DeliveryFailed, DeliveryRefused

Pause = Callable[[float], Awaitable[None]]
Act = Callable[[Any], Awaitable[Any]]

PATIENCE_SECONDS = 2.0
"""A call waits so long for a rate limit; what takes longer waits in the inbox, at no cost."""

_TIMEOUT_SECONDS = 15.0


class Connector:
    """The way out to Teams.

    Where to is said by a message's ``reply_to``, a conversation reference as JSON: it is all that
    is needed, in any process. Everything raises DeliveryFailed, Gone, and DeliveryRefused.
    """

    def __init__(
        self,
        adapter: CloudAdapter,
        credentials: CachedCredentials,
        *,
        app_id: str,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._adapter = adapter
        self._credentials = credentials
        self._app_id = app_id
        self._pause = pause

    @property
    def trouble(self) -> str:
        """Say why there was no token when one was last needed, "" when there was."""
        return self._credentials.trouble

    async def sign_in(self, cloud: Cloud) -> None:
        """Fetch a token as the first reply would. Raises DeliveryFailed."""
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._credentials.create_credentials(
                    self._app_id, cloud.scope, cloud.login_url, validate_authority=True
                )
                await self._credentials.warm()
        except Exception as error:
            # botbuilder raises many kinds, among them PermissionError for a refused secret.
            raise DeliveryFailed(
                f"MICROSOFT_APP_ID={self._app_id!r} got no token ({type(error).__name__}). Check "
                "it, MICROSOFT_APP_PASSWORD and MICROSOFT_APP_TENANT_ID."
            ) from error

    async def send(
        self, reply_to: str, content: Json, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> str:
        """Send an activity to where a message came from; return its id.

        A reference that names no message leads to the conversation: it is a reply to nothing.
        """
        reference = _reference(reply_to)
        activity = _addressed(content, reference)

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            there = activity.conversation.id
            if not activity.reply_to_id:
                return await conversations.send_to_conversation(there, activity)
            return await conversations.reply_to_activity(there, activity.reply_to_id, activity)

        response = await self._done(reference, act, patience_seconds)
        return str(getattr(response, "id", None) or "")

    async def update(
        self,
        reply_to: str,
        activity_id: str,
        content: Json,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Replace an activity; doing so twice is the same as once. Raises Gone."""
        reference = _reference(reply_to)
        activity = _addressed({**content, "id": activity_id}, reference)

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            return await conversations.update_activity(
                activity.conversation.id, activity_id, activity
            )

        await self._done(reference, act, patience_seconds)

    async def delete(self, reply_to: str, activity_id: str) -> None:
        """Remove an activity. Raises Gone."""
        reference = _reference(reply_to)

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            return await conversations.delete_activity(reference.conversation.id, activity_id)

        await self._done(reference, act, PATIENCE_SECONDS)

    async def call(
        self,
        reply_to: str,
        act: Act,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> Any:  # noqa: ANN401  # botbuilder has no types
        """Do something with botbuilder's ``conversations`` of a reference's service.

        ``act`` is given them; what it returns is returned.
        """
        return await self._done(_reference(reply_to), act, patience_seconds)

    async def _done(self, reference: ConversationReference, act: Act, patience: float) -> Any:  # noqa: ANN401
        """Do something, again while Teams says that it is too much, as long as patience lasts."""
        left = patience
        while True:
            try:
                return await self._tried(reference, act)
            except Busy as error:
                wait = error.retry_after_seconds or patience
                if wait > left:
                    raise
                left -= wait
                await self._pause(wait)

    async def _tried(self, reference: ConversationReference, act: Act) -> Any:  # noqa: ANN401
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await self._turn(reference, act)
        except ClientException as error:
            raise failure(error) from error
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not answer in time.") from error
        except Exception as error:
            # botbuilder raises many kinds, among them PermissionError for a refused secret.
            raise DeliveryFailed(f"Teams could not be asked: {type(error).__name__}.") from error

    async def _turn(self, reference: ConversationReference, act: Act) -> Any:  # noqa: ANN401
        answers: list[Any] = []

        async def turn(context: TurnContext) -> None:
            await self._credentials.warm()
            client = context.turn_state[BotAdapter.BOT_CONNECTOR_CLIENT_KEY]
            client.config.retry_policy.retries = 0
            # msrest would hide every 5xx to an edit or a deletion behind "too many retries".
            client.config.retry_policy.policy.status_forcelist = ()
            client.config.connection.timeout = _TIMEOUT_SECONDS
            answers.append(await act(client.conversations))

        await self._adapter.continue_conversation(reference, turn, self._app_id)
        return answers[0]


def _reference(reply_to: str) -> ConversationReference:
    try:
        reference = ConversationReference().deserialize(json.loads(reply_to))
    except (ValueError, ClientException) as error:
        raise DeliveryRefused(f"{reply_to!r} is no conversation to answer in.") from error
    if not (reference.service_url and reference.conversation):
        raise DeliveryRefused(f"{reply_to!r} does not say where to answer.")
    return reference


def _addressed(content: Json, reference: ConversationReference) -> Activity:
    activity = Activity().deserialize({**content})
    # botbuilder's own sending would name the id of its made-up turn as what is replied to.
    return TurnContext.apply_conversation_reference(activity, reference)
