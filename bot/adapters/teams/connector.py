"""Sends to a conversation through botbuilder; what goes wrong is a DeliveryFailed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from botbuilder.core import BotAdapter, TurnContext
from botbuilder.integration.aiohttp import CloudAdapter
from botbuilder.schema import Activity, ConversationReference
from msrest.exceptions import ClientException

from bot.adapters.teams.cloud import Cloud
from bot.adapters.teams.credentials import CachedCredentials
from bot.adapters.teams.render import Json
from bot.errors import DeliveryFailed

Pause = Callable[[float], Awaitable[None]]

_TIMEOUT_SECONDS = 15.0
_ATTEMPTS = 3
_LONGEST_WAIT_SECONDS = 30.0
_NOT_TAKEN = frozenset({412, 429})
"""Answers after which nothing was posted, so that the same may be sent again."""

_CURES = {
    401: "Check MICROSOFT_APP_ID and MICROSOFT_APP_PASSWORD.",
    403: "The bot was removed from the conversation, or is blocked there.",
    404: "The conversation is gone.",
    413: "The message is too large.",
}

log = structlog.get_logger(__name__)


class Connector:
    """The way out to Teams."""

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

    async def send(self, reply_to: str, activity: Json) -> str:
        """Send an activity to where a message came from; return its id. Raises DeliveryFailed."""
        reference = _reference(reply_to)
        for _ in range(_ATTEMPTS):
            try:
                async with asyncio.timeout(_TIMEOUT_SECONDS):
                    return await self._send(reference, activity)
            except ClientException as error:
                if _status(error) not in _NOT_TAKEN:
                    raise _failed(error) from error
                wait = _retry_after(error)
                if wait > _LONGEST_WAIT_SECONDS:
                    break
                await self._pause(wait)
            except TimeoutError as error:
                raise DeliveryFailed("Teams did not answer in time.") from error
            except Exception as error:
                # botbuilder raises many kinds, among them PermissionError for a refused secret.
                raise DeliveryFailed(
                    f"Teams could not be asked: {type(error).__name__}."
                ) from error
        raise DeliveryFailed("The rate limit of Teams holds. It is tried again later.")

    async def _send(self, reference: ConversationReference, content: Json) -> str:
        sent: list[str] = []

        async def turn(context: TurnContext) -> None:
            await self._credentials.warm()
            client = context.turn_state[BotAdapter.BOT_CONNECTOR_CLIENT_KEY]
            client.config.retry_policy.retries = 0
            client.config.connection.timeout = _TIMEOUT_SECONDS
            activity = _addressed(content, reference)
            response = await client.conversations.reply_to_activity(
                activity.conversation.id, activity.reply_to_id, activity
            )
            sent.append(response.id if response is not None and response.id else "")

        await self._adapter.continue_conversation(reference, turn, self._app_id)
        return sent[0]


def _reference(reply_to: str) -> ConversationReference:
    try:
        reference = ConversationReference().deserialize(json.loads(reply_to))
    except (ValueError, ClientException) as error:
        raise DeliveryFailed(f"{reply_to!r} is no conversation to answer in.") from error
    if not (reference.service_url and reference.conversation and reference.activity_id):
        raise DeliveryFailed(f"{reply_to!r} does not say where to answer.")
    return reference


def _addressed(content: Json, reference: ConversationReference) -> Activity:
    activity = Activity().deserialize({**content})
    # botbuilder's own sending would name the id of its made-up turn as what is replied to.
    return TurnContext.apply_conversation_reference(activity, reference)


def _failed(error: ClientException) -> DeliveryFailed:
    status = _status(error)
    if status is None:
        return DeliveryFailed("Teams cannot be reached. Check the network.")
    return DeliveryFailed(f"Teams answered {status}. {_CURES.get(status, '')}".rstrip())


def _status(error: ClientException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _retry_after(error: ClientException) -> float:
    response: Any = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", {})
    try:
        return max(0.0, float(headers.get("Retry-After", "1")))
    except ValueError:
        return 1.0
