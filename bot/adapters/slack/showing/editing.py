"""Edits messages of ours in place, each in the richest form that Slack takes."""

from __future__ import annotations

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.showing.posting import Poster, blocks_of
from bot.adapters.slack.showing.render import Form, Forms
from bot.domain.types import PostedRef


class Editor:
    """Changes what a message shows; what is known of it by metadata stays."""

    def __init__(self, client: AsyncWebClient, caller: Caller, poster: Poster) -> None:
        self._client = client
        self._caller = caller
        self._poster = poster

    async def edit(self, at: PostedRef, forms: Forms) -> None:
        """Show another form of a message. Raises DeliveryFailed, DeliveryRefused if it is gone."""
        await self._poster.richest(forms, lambda form: self._send(at, form))

    async def _send(self, at: PostedRef, form: Form) -> None:
        # Blocks that are not given would stay, and with them what the message showed before.
        await self._caller.call(
            "chat.update",
            lambda: self._client.chat_update(
                channel=at.channel,
                ts=at.id,
                text=form.text,
                blocks=blocks_of(form) or [],
                # Here Slack would otherwise look for links and names in the text by itself.
                parse="none",
            ),
        )
