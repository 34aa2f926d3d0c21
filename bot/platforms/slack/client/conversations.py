"""Read Slack's conversations: the bot's messages, permalinks, membership, direct messages.

Slack can't be queried by metadata, so the bot's messages are found by reading a thread or
channel page by page, whichever process posted them. A long answer has several messages, and the
record stores the last alone: for the others Slack is asked which question they answer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import InteractionId
from bot.inbox.outbox import delivery_id
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.client.errors import NeverPermitted, NotPermitted
from bot.platforms.slack.client.posting import blocks_of
from bot.platforms.slack.payloads.events import Event, object_at, text_at
from bot.platforms.slack.payloads.metadata import (
    CARD_PART,
    EVENT_TYPE,
    Place,
    PostedMessage,
    own_messages,
)
from bot.platforms.slack.rendering import MessageForm

_PAGE = 200
_MOST_PAGES = 10
_NO_THREAD = frozenset({"thread_not_found", "message_not_found"})
"""Codes if the question was deleted before anything was posted below it."""

log = structlog.get_logger(__name__)


class MessageLookup:
    """Finds the bot's messages by reading threads and channels page by page."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller) -> None:
        self._client = client
        self._caller = caller

    async def search(
        self, place: Place, interaction_id: InteractionId
    ) -> tuple[PostedMessage, ...]:
        """Return an interaction's messages in a place, oldest first.

        Only the 2,000 messages after the question are read. Raises DeliveryFailed.
        """
        found: list[PostedMessage] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            answer = await self._page(place, cursor)
            if answer is None:
                break
            found += own_messages(place.channel, answer.get("messages"), interaction_id)
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


_KEPT_SECONDS = 24 * 3600.0
_MOST = 1_000


class Permalinks:
    """Resolves permalinks, cached for a day: they do not change."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller) -> None:
        self._client = client
        self._caller = caller
        self._known = TtlCache(self._asked, seconds=_KEPT_SECONDS, most=_MOST)

    async def of(self, channel: str, ts: str) -> str | None:
        """Return the permalink of a message; None if Slack gives none now."""
        try:
            return await self._known.get(f"{channel} {ts}")
        except DeliveryFailed as error:
            log.warning("slack.no_permalink", error=str(error))
            return None

    async def _asked(self, key: str) -> str:
        channel, _, ts = key.partition(" ")
        answer = await self._caller.call(
            "chat.getPermalink",
            lambda: self._client.chat_getPermalink(channel=channel, message_ts=ts),
        )
        return str(answer["permalink"])


class Conversations:
    """Queries channels, and opens direct ones. Raises bot.domain.errors.DeliveryFailed."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller) -> None:
        self._client = client
        self._caller = caller

    async def is_member(self, channel: str) -> bool:
        """Return whether the bot is in a channel; False if it may not look the channel up."""
        return bool((await self._told(channel)).get("is_member"))

    async def is_own(self, channel: str) -> bool:
        """Return whether the bot is in a channel with no share, or pending one, to outsiders."""
        told = await self._told(channel)
        shared = told.get("is_ext_shared") or told.get("is_pending_ext_shared")
        return bool(told.get("is_member")) and not shared

    async def is_direct_with(self, channel: str, user: str) -> bool:
        """Return whether a channel is the direct conversation of a user with the bot."""
        return channel.startswith("D") and await self.direct(user) == channel

    async def direct(self, user: str) -> str:
        """Return the direct conversation with a user; open it if there was none."""
        answer = await self._caller.call(
            "conversations.open", lambda: self._client.conversations_open(users=user)
        )
        return str(answer["channel"]["id"])

    async def open_thread(self, channel: str, form: MessageForm) -> str:
        """Post the first message of a thread; return its ts."""
        answer = await self._caller.call(
            "chat.postMessage",
            lambda: self._client.chat_postMessage(
                channel=channel,
                text=form.text,
                blocks=blocks_of(form),
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel=channel,
        )
        return str(answer["ts"])

    async def _told(self, channel: str) -> Event:
        """Return the result of conversations.info; {} if the bot may not look the channel up."""
        try:
            answer = await self._caller.call(
                "conversations.info", lambda: self._client.conversations_info(channel=channel)
            )
        except (NotPermitted, NeverPermitted):
            return {}
        return answer.get("channel") or {}


_REMEMBERED = 1_000


class AnswerLookup:
    """Resolves a message to the interaction that it answers, by metadata, once per message."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller) -> None:
        self._client = client
        self._caller = caller
        self._found: OrderedDict[tuple[str, str], InteractionId | None] = OrderedDict()

    def known(self, channel: str, ts: str) -> InteractionId | None:
        """Return the cached result, without a call to Slack."""
        return self._found.get((channel, ts))

    async def look_up(self, channel: str, ts: str) -> InteractionId | None:
        """Return the interaction that a message answers, None for any other message.

        Raises DeliveryFailed.
        """
        if (channel, ts) not in self._found:
            self._found[channel, ts] = await self._asked(channel, ts)
            while len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)
        return self._found[channel, ts]

    async def _asked(self, channel: str, ts: str) -> InteractionId | None:
        try:
            answer = await self._caller.call(
                "conversations.replies",
                lambda: self._client.conversations_replies(
                    channel=channel,
                    ts=ts,
                    oldest=ts,
                    latest=ts,
                    inclusive=True,
                    limit=1,
                    include_all_metadata=True,
                ),
            )
        except NeverPermitted:
            return None
        listed = answer.get("messages") or ()
        found = (each for each in listed if isinstance(each, Mapping) and each.get("ts") == ts)
        return next((_answered_by(each) for each in found), None)


def _answered_by(message: Event) -> InteractionId | None:
    """Return the interaction that a message answers; None for cards and notices."""
    metadata = object_at(message, "metadata")
    payload = object_at(metadata, "event_payload")
    named = InteractionId(text_at(payload, "interaction_id"))
    if metadata.get("event_type") != EVENT_TYPE or text_at(payload, "part") == CARD_PART:
        return None
    return named if text_at(payload, "delivery_id") == delivery_id(named) else None
