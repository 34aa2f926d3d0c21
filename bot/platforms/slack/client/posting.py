"""Post, edit and delete Slack messages, each in the richest form that the workspace accepts.

Types of blocks that a workspace rejects are remembered for ten minutes, so that not every post
is rejected first.
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
"""Slack's codes for unsupported blocks; others concern the length of one message."""


def block_types_of(form: MessageForm) -> frozenset[str]:
    """Return the types of a form's blocks."""
    return frozenset(str(block["type"]) for block in form.blocks)


class RefusedBlocks:
    """Remembers for ten minutes which types of blocks a workspace rejects.

    Slack rejects a message also for faults of its own. So a type of blocks counts as rejected if
    Slack names it, or once two different messages were accepted without it.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}
        self._suspected: dict[str, tuple[int, float]] = {}

    def taken(self, forms: Sequence[MessageForm]) -> Sequence[MessageForm]:
        """Return the forms without rejected types of blocks; the last form is always included."""
        now = self._clock()
        refused = {kind for kind, until in self._until.items() if until > now}
        return [form for form in forms[:-1] if refused.isdisjoint(block_types_of(form))] + [
            forms[-1]
        ]

    def unknown(self, kinds: Iterable[str]) -> None:
        """Record types of blocks that Slack names as unsupported."""
        for kind in kinds:
            self._until[kind] = self._clock() + _REMEMBERED_SECONDS

    def learn(self, refused: Iterable[MessageForm], taken: MessageForm) -> None:
        """Record types that only a message's rejected forms had, at the second such message."""
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
    """Posts and deletes messages."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller) -> None:
        self._client = client
        self._caller = caller
        self._refusals = RefusedBlocks()

    async def post(self, place: Place, forms: MessageForms, label: MessageLabel) -> str:
        """Post a message; return its ts. Raises DeliveryFailed."""
        return await self.richest(forms, lambda form: self._send(place, form, label))

    async def post_ephemeral(self, place: Place, user: str, forms: MessageForms) -> None:
        """Post an ephemeral message to one user in a thread. Raises DeliveryFailed."""
        await self.richest(forms, lambda form: self._show(place, user, form))

    async def richest(
        self, forms: MessageForms, send: Callable[[MessageForm], Awaitable[Result]]
    ) -> Result:
        """Send a message in its first form that Slack accepts; rejected blocks are remembered.

        Where Slack names the blocks that it rejects, no other form with such blocks is tried. A
        form that is too long is shortened, and says so.
        Raises FormsRefused when all forms are rejected, and DeliveryFailed.
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
        """Delete a message of the bot; a missing one is no error. Raises DeliveryFailed."""
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
        # slack_sdk declares no unfurl parameters here, but passes them on.
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
    """Return the forms to try after one was rejected."""
    if error.too_long and (shorter := shorten(form)):
        return [shorter, *(shorten(last) or last for last in left[-1:])]
    named = _block_types_at(form, error.blocks)
    return [other for other in left if named.isdisjoint(block_types_of(other))]


def _block_types_at(form: MessageForm, places: frozenset[int]) -> frozenset[str]:
    return frozenset(str(form.blocks[at]["type"]) for at in places if at < len(form.blocks))


def blocks_of(form: MessageForm) -> Sequence[dict[str, object]] | None:
    """Return a form's blocks as slack_sdk expects them; None if it has none."""
    return [_block(block) for block in form.blocks] or None


def _block(block: Block) -> dict[str, object]:
    return dict(block)


class Editor:
    """Edits posted messages; their metadata stays."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller, poster: Poster) -> None:
        self._client = client
        self._caller = caller
        self._poster = poster

    async def edit(self, at: PostedRef, forms: MessageForms) -> None:
        """Replace a message's content. Raises DeliveryFailed, DeliveryRefused if it is gone."""
        await self._poster.richest(forms, lambda form: self._send(at, form))

    async def _send(self, at: PostedRef, form: MessageForm) -> None:
        # Omitted blocks would stay, and with them the previous content.
        await self._caller.call(
            "chat.update",
            lambda: self._client.chat_update(
                channel=at.channel,
                ts=at.id,
                text=form.text,
                blocks=blocks_of(form) or [],
                # chat.update would otherwise parse links and names in the text.
                parse="none",
            ),
        )
