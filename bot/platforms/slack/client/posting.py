"""Post, edit and delete Slack messages, each in the richest form that the workspace takes.

Kinds of blocks that a workspace refuses are remembered for ten minutes, so that not every post
is refused first.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.interactions import PostedRef
from bot.platforms.slack.client.api import ApiCaller, Clock
from bot.platforms.slack.client.errors import FormRefused, FormsRefused, NeverPermitted
from bot.platforms.slack.payloads.metadata import MessageLabel, Place
from bot.platforms.slack.rendering import Block, MessageForm, MessageForms, shorten

_REMEMBERED_SECONDS = 600.0

REFUSED_BLOCK_CODES = frozenset({"invalid_blocks", "invalid_blocks_format"})
"""Slack's codes for blocks that it does not know; others speak of one message's length."""


def block_types_of(form: MessageForm) -> frozenset[str]:
    """Return the types of a form's blocks."""
    return frozenset(str(block["type"]) for block in form.blocks)


class RefusedBlocks:
    """What is left out for ten minutes, since a workspace does not take it.

    Slack refuses a message also for what is wrong in it alone. So a kind of blocks counts as
    refused where Slack names its type, or once two different messages went through without it.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}
        self._suspected: dict[str, tuple[int, float]] = {}

    def taken(self, forms: Sequence[MessageForm]) -> Sequence[MessageForm]:
        """Return the forms without anything that was refused; the last is always among them."""
        now = self._clock()
        refused = {kind for kind, until in self._until.items() if until > now}
        return [form for form in forms[:-1] if refused.isdisjoint(block_types_of(form))] + [
            forms[-1]
        ]

    def unknown(self, kinds: Iterable[str]) -> None:
        """Note types of blocks that Slack says it does not take."""
        for kind in kinds:
            self._until[kind] = self._clock() + _REMEMBERED_SECONDS

    def learn(self, refused: Iterable[MessageForm], taken: MessageForm) -> None:
        """Note what only the refused forms of a message had, if another's had it before."""
        tried = frozenset[str]().union(*(block_types_of(form) for form in refused))
        message, now = hash(taken.text), self._clock()
        for kind in tried - block_types_of(taken):
            before, until = self._suspected.get(kind, (message, now))
            if before != message and until > now:
                self.unknown([kind])
            self._suspected[kind] = (message, now + _REMEMBERED_SECONDS)


_NO_MESSAGE = "message_not_found"

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Poster:
    """Makes messages visible, and invisible."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller) -> None:
        self._client = client
        self._caller = caller
        self._refusals = RefusedBlocks()

    async def post(self, place: Place, forms: MessageForms, label: MessageLabel) -> str:
        """Post a message; return its ts. Raises DeliveryFailed."""
        return await self.richest(forms, lambda form: self._send(place, form, label))

    async def post_ephemeral(self, place: Place, user: str, forms: MessageForms) -> None:
        """Show something in a thread to one person alone. Raises DeliveryFailed."""
        await self.richest(forms, lambda form: self._show(place, user, form))

    async def richest(
        self, forms: MessageForms, send: Callable[[MessageForm], Awaitable[Result]]
    ) -> Result:
        """Send a message in the first of its forms that is taken; what is refused is remembered.

        Where Slack names the blocks that it does not take, no other form with such blocks is tried.
        What is too long is shortened, and says so.
        Raises FormsRefused when it takes none, and DeliveryFailed.
        """
        refused: list[MessageForm] = []
        left = list(self._refusals.taken(forms))
        while left:
            form = left.pop(0)
            try:
                result = await send(form)
            except FormRefused as error:
                log.warning("slack.form_refused", error=str(error))
                self._refusals.unknown(_block_types_at(form, error.unknown))
                left = _forms_left(left, form, error)
                refused += [form] if error.code in REFUSED_BLOCK_CODES else []
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

    async def _send(self, place: Place, form: MessageForm, label: MessageLabel) -> str:
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

    async def _show(self, place: Place, user: str, form: MessageForm) -> None:
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


def _forms_left(
    left: Sequence[MessageForm], form: MessageForm, error: FormRefused
) -> list[MessageForm]:
    """Return what is still to be tried after a form was refused."""
    if error.too_long and (shorter := shorten(form)):
        return [shorter, *(shorten(last) or last for last in left[-1:])]
    named = _block_types_at(form, error.blocks)
    return [other for other in left if named.isdisjoint(block_types_of(other))]


def _block_types_at(form: MessageForm, places: frozenset[int]) -> frozenset[str]:
    return frozenset(str(form.blocks[at]["type"]) for at in places if at < len(form.blocks))


def blocks_of(form: MessageForm) -> Sequence[dict[str, object]] | None:
    """Return a form's blocks as slack_sdk takes them; None where it has none."""
    return [_block(block) for block in form.blocks] or None


def _block(block: Block) -> dict[str, object]:
    return dict(block)


class Editor:
    """Changes what a message shows; what is known of it by metadata stays."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller, poster: Poster) -> None:
        self._client = client
        self._caller = caller
        self._poster = poster

    async def edit(self, at: PostedRef, forms: MessageForms) -> None:
        """Show another form of a message. Raises DeliveryFailed, DeliveryRefused if it is gone."""
        await self._poster.richest(forms, lambda form: self._send(at, form))

    async def _send(self, at: PostedRef, form: MessageForm) -> None:
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
