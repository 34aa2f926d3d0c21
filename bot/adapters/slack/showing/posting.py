"""Posts and deletes messages on Slack, each in the richest form that it takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.calling.errors import FormRefused, FormsRefused, NeverPermitted
from bot.adapters.slack.showing.blocks import Block
from bot.adapters.slack.showing.refusals import KINDS_REFUSED, Refusals, kinds_of
from bot.adapters.slack.showing.render import Form, Forms, shortened
from bot.adapters.slack.wire.labels import Label, Place

_NO_MESSAGE = "message_not_found"

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Poster:
    """Makes messages visible, and invisible."""

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller
        self._refusals = Refusals()

    async def post(self, place: Place, forms: Forms, label: Label) -> str:
        """Post a message; return its ts. Raises DeliveryFailed."""
        return await self.richest(forms, lambda form: self._send(place, form, label))

    async def post_ephemeral(self, place: Place, user: str, forms: Forms) -> None:
        """Show something in a thread to one person alone. Raises DeliveryFailed."""
        await self.richest(forms, lambda form: self._show(place, user, form))

    async def richest(self, forms: Forms, send: Callable[[Form], Awaitable[Result]]) -> Result:
        """Send a message in the first of its forms that is taken; what is refused is remembered.

        Where Slack names the blocks that it does not take, no other form with such blocks is tried.
        What is too long is shortened, and says so.
        Raises FormsRefused when it takes none, and DeliveryFailed.
        """
        refused: list[Form] = []
        left = list(self._refusals.taken(forms))
        while left:
            form = left.pop(0)
            try:
                result = await send(form)
            except FormRefused as error:
                log.warning("slack.form_refused", error=str(error))
                self._refusals.unknown(_kinds_at(form, error.unknown))
                left = _left(left, form, error)
                refused += [form] if error.code in KINDS_REFUSED else []
            else:
                self._refusals.learn(refused, form)
                return result
        raise FormsRefused("Slack refused every form of a message.")

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
                blocks=blocks_of(form),
                metadata=label.metadata,
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel=place.channel,
        )
        return str(answer["ts"])

    async def _show(self, place: Place, user: str, form: Form) -> None:
        # slack_sdk names no unfurling here and hands it on all the same.
        await self._caller.call(
            "chat.postEphemeral",
            lambda: self._client.chat_postEphemeral(
                channel=place.channel,
                user=user,
                thread_ts=place.thread,
                text=form.text,
                blocks=blocks_of(form),
                unfurl_links=False,
                unfurl_media=False,
            ),
        )


def _left(left: Sequence[Form], form: Form, error: FormRefused) -> list[Form]:
    """Return what is still to be tried after a form was refused."""
    if error.too_long and (shorter := shortened(form)):
        return [shorter, *(shortened(last) or last for last in left[-1:])]
    named = _kinds_at(form, error.blocks)
    return [other for other in left if named.isdisjoint(kinds_of(other))]


def _kinds_at(form: Form, places: frozenset[int]) -> frozenset[str]:
    return frozenset(str(form.blocks[at]["type"]) for at in places if at < len(form.blocks))


def blocks_of(form: Form) -> Sequence[dict[str, object]] | None:
    """Return a form's blocks as slack_sdk takes them; None where it has none."""
    return [_block(block) for block in form.blocks] or None


def _block(block: Block) -> dict[str, object]:
    return dict(block)
