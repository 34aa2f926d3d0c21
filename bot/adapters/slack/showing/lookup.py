"""Finds what is posted of an interaction by asking Slack, whichever process posted it."""

from __future__ import annotations

import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.calling.errors import NeverPermitted
from bot.adapters.slack.wire.labels import Place, Posted, ours
from bot.domain.types import InteractionId

_PAGE = 200
_MOST_PAGES = 10
_NO_THREAD = frozenset({"thread_not_found", "message_not_found"})
"""The question was deleted before anything was posted below it."""

log = structlog.get_logger(__name__)


class Lookup:
    """Reads threads and channels page by page; Slack can't be asked for metadata directly."""

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller

    async def search(self, place: Place, interaction_id: InteractionId) -> tuple[Posted, ...]:
        """Return our messages in a place, oldest first, of the 2,000 after the question.

        Raises DeliveryFailed when Slack won't tell.
        """
        found: list[Posted] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            answer = await self._page(place, cursor)
            if answer is None:
                break
            found += ours(place.channel, answer.get("messages"), interaction_id)
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                break
        else:
            log.warning("slack.search_ended", channel=place.channel, messages=_PAGE * _MOST_PAGES)
        return tuple(sorted(found, key=lambda posted: posted.ts))

    async def _page(self, place: Place, cursor: str | None) -> AsyncSlackResponse | None:
        if place.thread is None:
            return await self._history(place, cursor)
        try:
            return await self._replies(place, place.thread, cursor)
        except NeverPermitted as error:
            if error.code in _NO_THREAD:
                return None
            raise

    async def _replies(self, place: Place, thread: str, cursor: str | None) -> AsyncSlackResponse:
        return await self._caller.call(
            "conversations.replies",
            lambda: self._client.conversations_replies(
                channel=place.channel,
                ts=thread,
                oldest=place.since,
                limit=_PAGE,
                cursor=cursor,
                include_all_metadata=True,
            ),
        )

    async def _history(self, place: Place, cursor: str | None) -> AsyncSlackResponse:
        return await self._caller.call(
            "conversations.history",
            lambda: self._client.conversations_history(
                channel=place.channel,
                oldest=place.since,
                limit=_PAGE,
                cursor=cursor,
                include_all_metadata=True,
            ),
        )
