"""Where the bot is, and direct conversations with it."""

from __future__ import annotations

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.calling.errors import NeverPermitted, NotPermitted
from bot.adapters.slack.showing.posting import blocks_of
from bot.adapters.slack.showing.render import Form
from bot.adapters.slack.wire.events import Event


class Rooms:
    """Asks Slack about channels. Raises bot.domain.errors.DeliveryFailed."""

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller

    async def is_member(self, channel: str) -> bool:
        """Tell whether the bot is in a channel; where it may not even look, it is not."""
        return bool((await self._told(channel)).get("is_member"))

    async def is_own(self, channel: str) -> bool:
        """Tell whether the bot is in a channel that no other company shares, or is about to."""
        told = await self._told(channel)
        shared = told.get("is_ext_shared") or told.get("is_pending_ext_shared")
        return bool(told.get("is_member")) and not shared

    async def is_direct_with(self, channel: str, user: str) -> bool:
        """Tell whether this is the direct conversation of a person with the bot."""
        return channel.startswith("D") and await self.direct(user) == channel

    async def direct(self, user: str) -> str:
        """Return the direct conversation with a person, opened if there was none."""
        answer = await self._caller.call(
            "conversations.open", lambda: self._client.conversations_open(users=user)
        )
        return str(answer["channel"]["id"])

    async def open_thread(self, channel: str, form: Form) -> str:
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
        """Return what Slack tells of a channel; nothing where the bot may not even look."""
        try:
            answer = await self._caller.call(
                "conversations.info", lambda: self._client.conversations_info(channel=channel)
            )
        except (NotPermitted, NeverPermitted):
            return {}
        return answer.get("channel") or {}
