"""Posts and deletes messages on Slack, each in the richest form that it takes."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calls import Caller
from bot.adapters.slack.errors import FormRefused, NeverPermitted
from bot.adapters.slack.labels import Label, Place
from bot.adapters.slack.render import Block, Form, Forms
from bot.errors import DeliveryRefused
from bot.types import Message

_NO_MESSAGE = "message_not_found"

log = structlog.get_logger(__name__)


class Poster:
    """Makes messages visible, and invisible."""

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller

    async def post(self, place: Place, forms: Forms, label: Label) -> str:
        """Post a message; return its ts. Raises DeliveryFailed."""
        for form in forms:
            try:
                return await self._send(place, form, label)
            except FormRefused as error:
                log.warning("slack.form_refused", part=label.part, error=str(error))
        raise DeliveryRefused(f"Slack refused every form of a message to {place.channel!r}.")

    async def post_ephemeral(self, message: Message, form: Form) -> None:
        """Show something in a thread to its asker alone. Raises DeliveryFailed."""
        await self._caller.call(
            "chat.postEphemeral",
            lambda: self._client.chat_postEphemeral(
                channel=message.thread.channel,
                user=message.author.id,
                thread_ts=message.thread.id,
                text=form.text,
                blocks=_blocks(form),
            ),
        )

    async def delete(self, channel: str, ts: str) -> None:
        """Delete a message of ours; one that is gone is no error. Raises DeliveryFailed."""
        try:
            await self._caller.call(
                "chat.delete", lambda: self._client.chat_delete(channel=channel, ts=ts)
            )
        except NeverPermitted as error:
            if error.code != _NO_MESSAGE:
                raise

    async def _send(self, place: Place, form: Form, label: Label) -> str:
        answer = await self._caller.call(
            "chat.postMessage",
            lambda: self._client.chat_postMessage(
                channel=place.channel,
                thread_ts=place.thread,
                text=form.text,
                blocks=_blocks(form),
                metadata=label.metadata,
                unfurl_links=False,
                unfurl_media=False,
            ),
        )
        return str(answer["ts"])


def _blocks(form: Form) -> Sequence[dict[str, object]] | None:
    return [_block(block) for block in form.blocks] or None


def _block(block: Block) -> dict[str, object]:
    return dict(block)
