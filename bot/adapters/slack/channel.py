"""Slack as a channel: where outcomes, progress and escalations become visible."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import aiohttp
import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calls import Caller
from bot.adapters.slack.checking import checked
from bot.adapters.slack.errors import ResultUnknown
from bot.adapters.slack.posting import Label, Place, Poster
from bot.adapters.slack.render import Form, Forms, card, messages
from bot.config import Settings
from bot.errors import DeliveryFailed, SettingInvalid
from bot.escalation import unheard
from bot.rendering import STAGES, HandOver, hand_over, render
from bot.startup import Part
from bot.types import Delivery, Message, PostedRef, Response, Stage

_REMEMBERED = 10_000
_CARD = "card"
_LATE = timedelta(seconds=10)
_STATUS_PAUSE_SECONDS = 600.0
_TIMEOUT_SECONDS = 15

log = structlog.get_logger(__name__)


def connect(settings: Settings, *, caller: Caller | None = None) -> SlackChannel:
    """Return the channel of the configured workspace; nothing is called yet.

    Raises SettingInvalid.
    """
    token, secret = settings.slack_bot_token, settings.slack_signing_secret
    if token is None or secret is None:
        raise SettingInvalid(
            "Slack needs SLACK_BOT_TOKEN (OAuth & Permissions) and SLACK_SIGNING_SECRET "
            "(Basic Information); set both."
        )
    client = AsyncWebClient(
        token=token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout=_TIMEOUT_SECONDS,
        retry_handlers=[],
    )
    return SlackChannel(client, settings, caller or Caller())


@dataclass(frozen=True, slots=True)
class _Sent:
    """Where a delivery goes and the name of its last part."""

    place: Place
    last: str


class SlackChannel:
    """Implements bot.ports.Channel.

    A delivery may have several messages; the posted reference names the last, which carries the
    sources. What was asked before this process began, or comes late, may have been posted by
    another one that was killed, so it is looked up before it is posted.
    """

    def __init__(self, client: AsyncWebClient, settings: Settings, caller: Caller) -> None:
        self.client = client
        self.settings = settings
        self._caller = caller
        self._poster = Poster(client, caller)
        self._sent: OrderedDict[str, _Sent] = OrderedDict()
        self._status_again_at = 0.0
        self._began_at = datetime.now(UTC)

    @property
    def platform(self) -> Literal["slack"]:
        return "slack"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        """Hold connections to Slack open; without it every call makes its own."""
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            self.client.session = session
            try:
                yield
            finally:
                self.client.session = None

    async def check(self) -> Part:
        """Ask Slack whether the token works and what it may do; nothing is posted."""
        try:
            answer = await self._caller.call("auth.test", self.client.auth_test)
        except DeliveryFailed as error:
            return Part("Slack", "failed", str(error))
        return checked(answer, self.settings.slack_team_id)

    async def progress(self, message: Message, stage: Stage) -> None:
        """Show a status line; where Slack refuses it, it is left alone for ten minutes."""
        if time.monotonic() < self._status_again_at:
            return
        try:
            await self._caller.call(
                "assistant.threads.setStatus",
                lambda: self.client.assistant_threads_setStatus(
                    channel_id=message.thread.channel,
                    thread_ts=message.thread.id,
                    status=STAGES.get(stage, ""),
                ),
            )
        except DeliveryFailed as error:
            self._status_again_at = time.monotonic() + _STATUS_PAUSE_SECONDS
            log.info("slack.status_unavailable", error=str(error))

    async def deliver(self, delivery: Delivery) -> PostedRef:
        message, response = delivery.message, delivery.outcome.response
        place = _place(message)
        parts = _parts(response, message)
        again = delivery.id in self._sent or self._may_be_posted(message)
        self._remember(delivery.id, _Sent(place, str(len(parts))))
        if again:
            await self._poster.look_up(place, delivery.id)
        if not await self._escalated(delivery, again=again):
            parts = _parts(unheard(response), message)
        for part, forms in parts.items():
            ts = await self._poster.post(place, forms, _label(delivery, part))
        await self._whisper(delivery)
        return PostedRef(place.channel, ts)

    async def find(self, delivery_id: str) -> PostedRef | None:
        """Look up a delivery that this process attempted; others are looked up by deliver."""
        sent = self._sent.get(delivery_id)
        if sent is None:
            return None
        if self._poster.posted(delivery_id, sent.last) is None:
            await self._poster.look_up(sent.place, delivery_id)
        ts = self._poster.posted(delivery_id, sent.last)
        return None if ts is None else PostedRef(sent.place.channel, ts)

    def _may_be_posted(self, message: Message) -> bool:
        received = message.received_at
        return received < self._began_at or datetime.now(UTC) - received > _LATE

    async def _escalated(self, delivery: Delivery, *, again: bool) -> bool:
        """Post the card before the asker is told of it; False when it can't be posted.

        An outage of all of Slack shows when the reply is posted, and both are tried again.
        """
        asked = hand_over(delivery)
        channel = self.settings.slack_escalation_channel
        if asked is None or channel is None:
            return True
        place = Place(channel, since=delivery.message.id)
        label = _label(delivery, _CARD)
        if again:
            await self._poster.look_up(place, delivery.id)
        try:
            await self._poster.post(place, await self._card(delivery.message, asked), label)
        except ResultUnknown:
            raise
        except DeliveryFailed as error:
            log.warning("slack.people_not_asked", channel=channel, error=str(error))
            return False
        return True

    async def _card(self, message: Message, asked: HandOver) -> Forms:
        permalink = None if message.private else await self._permalink(message)
        return card(asked, author=message.author.id, permalink=permalink)

    async def _permalink(self, message: Message) -> str | None:
        try:
            answer = await self._caller.call(
                "chat.getPermalink",
                lambda: self.client.chat_getPermalink(
                    channel=message.thread.channel, message_ts=message.id
                ),
            )
        except DeliveryFailed as error:
            log.warning("slack.no_permalink", error=str(error))
            return None
        return str(answer["permalink"])

    async def _whisper(self, delivery: Delivery) -> None:
        """Show the fuller reply to the asker alone; the public one stands without it."""
        private = delivery.outcome.private
        if private is None or delivery.message.private:
            return
        for forms in messages(render(private, private=True)):
            try:
                await self._post_ephemeral(delivery.message, forms[0])
            except DeliveryFailed as error:
                log.warning("slack.private_reply_failed", error=str(error))

    async def _post_ephemeral(self, message: Message, form: Form) -> None:
        await self._caller.call(
            "chat.postEphemeral",
            lambda: self.client.chat_postEphemeral(
                channel=message.thread.channel,
                user=message.author.id,
                thread_ts=message.thread.id,
                text=form.text,
                blocks=[dict(block) for block in form.blocks],
            ),
        )

    def _remember(self, delivery_id: str, sent: _Sent) -> None:
        self._sent[delivery_id] = sent
        while len(self._sent) > _REMEMBERED:
            self._sent.popitem(last=False)


def _parts(response: Response, message: Message) -> dict[str, Forms]:
    rendered = render(response, private=message.private)
    return {str(n): forms for n, forms in enumerate(messages(rendered), start=1)}


def _place(message: Message) -> Place:
    return Place(message.thread.channel, message.thread.id, since=message.id)


def _label(delivery: Delivery, part: str) -> Label:
    return Label(delivery.id, delivery.interaction_id, part)
