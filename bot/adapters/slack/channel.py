"""Slack as a channel: where outcomes, progress and escalations become visible."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import aiohttp
import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calls import Caller
from bot.adapters.slack.checking import checked
from bot.adapters.slack.labels import CARD, Parts, Posted, label, last_of_all, thread_of
from bot.adapters.slack.lookup import Lookup
from bot.adapters.slack.people import People
from bot.adapters.slack.posting import Poster
from bot.adapters.slack.render import Forms, messages
from bot.adapters.slack.telling import Telling
from bot.config import Settings
from bot.errors import DeliveryFailed, SettingInvalid
from bot.escalations.handover import unheard
from bot.escalations.types import Case, Notice
from bot.notes import Forgetful
from bot.ports import Notes
from bot.rendering.rendering import doing, render
from bot.startup import Part
from bot.types import Activity, Delivery, Message, PostedRef, Response

_REMEMBERED = 1_000
_STATUS_PAUSE_SECONDS = 600.0
_TIMEOUT_SECONDS = 15

log = structlog.get_logger(__name__)


def connect(
    settings: Settings, notes: Notes | None = None, *, caller: Caller | None = None
) -> SlackChannel:
    """Return the channel of the configured workspace; nothing is called yet.

    Without ``notes`` it remembers nothing beyond its process.

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
    return SlackChannel(client, settings, caller or Caller(), notes or Forgetful())


class SlackChannel:
    """Implements bot.ports.Channel and Withdraws; bot.escalations.ports has the other three.

    These are Tells, AsksPeople and LinksBack.

    A delivery may have several messages; the posted reference names the last, which carries the
    sources. The card for people is posted before the first of them, so that a complete reply says
    that the card is settled as well.
    """

    def __init__(
        self, client: AsyncWebClient, settings: Settings, caller: Caller, notes: Notes
    ) -> None:
        self.client = client
        self.settings = settings
        self._caller = caller
        self._notes = notes
        self._poster = Poster(client, caller)
        self._lookup = Lookup(client, caller)
        self._telling = Telling(client, caller)
        board = f"{settings.public_url}/board" if settings.public_url else None
        self._people = People(client, caller, settings.slack_escalation_channel, board)
        self._attempted: OrderedDict[str, Parts | None] = OrderedDict()
        self._status_again_at = 0.0

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

    async def progress(
        self,
        message: Message,
        activity: Activity,
        placeholder: PostedRef | None,  # noqa: ARG002  # the port's; a status line needs none
    ) -> None:
        """Show a status line; where Slack refuses it, it is left alone for ten minutes."""
        if time.monotonic() < self._status_again_at:
            return
        try:
            await self._caller.call(
                "assistant.threads.setStatus",
                lambda: self.client.assistant_threads_setStatus(
                    channel_id=message.thread.channel,
                    thread_ts=message.thread.id,
                    status=doing(activity),
                ),
                patience_seconds=0.0,
            )
        except DeliveryFailed as error:
            pause = error.retry_after_seconds or _STATUS_PAUSE_SECONDS
            self._status_again_at = time.monotonic() + pause
            log.info("slack.status_unavailable", error=str(error))

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post what is not there yet; what ``find`` saw is not looked up again.

        The first attempt at a delivery looks nothing up: whoever repeats one, in this process or
        another, calls ``find`` before.
        """
        there = await self._there(delivery)
        if last := last_of_all(there):
            return PostedRef(last.channel, last.ts)
        message, response = delivery.message, delivery.outcome.response
        if CARD not in there and not await self._people.ask(delivery):
            response = unheard(response)
        parts = _parts(response, message)
        ts = ""
        for part, forms in parts.items():
            named = label(delivery, part, of=len(parts))
            known = there.get(part)
            ts = known.ts if known else await self._poster.post(thread_of(message), forms, named)
        await self._whisper(delivery)
        return PostedRef(message.thread.channel, ts)

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Look the delivery up in its thread, by metadata; None unless all of it is there."""
        there = await self._look_up(delivery)
        self._remember(delivery.id, there)
        last = last_of_all(there)
        return PostedRef(last.channel, last.ts) if last else None

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post what a person did, in the thread of the question; theirs by name and words."""
        return await self._telling.tell(message, notice)

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        """Look a notice up in its thread, by metadata; None unless all of it is there."""
        return await self._telling.find_told(message, notice)

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Say in the people's channel that a case waits, with the way to it."""
        return await self._people.remind(case, notice)

    async def link(self, message: Message) -> str | None:
        """Return where a question can be opened; a direct message nobody else can open."""
        if message.private:
            return None
        return await self._people.permalink(message.thread.channel, message.id)

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete what is recorded, then what else the thread and the people's channel hold."""
        deleted: set[PostedRef] = set()

        async def delete(refs: Sequence[PostedRef]) -> None:
            for ref in refs:
                if ref not in deleted:
                    await self._poster.delete(ref.channel, ref.id)
                    deleted.add(ref)

        try:
            await delete(posted)
            replies = await self._lookup.search(thread_of(message), message.interaction_id)
            await delete(_refs(replies))
        finally:
            # The card holds the question: it goes also where the reply can't be removed any more.
            await delete(_refs(await self._people.cards(message)))

    async def _there(self, delivery: Delivery) -> Parts:
        """Return what is posted of a delivery; nothing, if this is the first that is heard of it.

        From then on that is unknown again, until it is looked up.
        """
        if delivery.id not in self._attempted:
            there: Parts | None = {}
        else:
            there = self._attempted[delivery.id]
        self._remember(delivery.id, None)
        return await self._look_up(delivery) if there is None else there

    async def _look_up(self, delivery: Delivery) -> Parts:
        place = thread_of(delivery.message)
        replies = await self._lookup.search(place, delivery.interaction_id)
        there = _of(delivery, replies)
        if last_of_all(there) or not self._people.are_asked(delivery):
            return there
        return {**there, **_of(delivery, await self._people.cards(delivery.message))}

    async def _whisper(self, delivery: Delivery) -> None:
        """Show the fuller reply to the asker alone; the public one stands without it."""
        private = delivery.outcome.private
        if private is None or delivery.message.private:
            return
        for forms in messages(render(private, private=True)):
            try:
                await self._poster.post_ephemeral(delivery.message, forms[0])
            except DeliveryFailed as error:
                log.warning("slack.private_reply_failed", error=str(error))

    def _remember(self, delivery_id: str, there: Parts | None) -> None:
        self._attempted[delivery_id] = there
        self._attempted.move_to_end(delivery_id)
        while len(self._attempted) > _REMEMBERED:
            self._attempted.popitem(last=False)


def _parts(response: Response, message: Message) -> dict[str, Forms]:
    rendered = render(response, private=message.private)
    return {str(n): forms for n, forms in enumerate(messages(rendered), start=1)}


def _of(delivery: Delivery, posted: Sequence[Posted]) -> Parts:
    """Return a delivery's messages by part, the first of each."""
    return {p.label.part: p for p in reversed(posted) if p.label.delivery_id == delivery.id}


def _refs(posted: Sequence[Posted]) -> list[PostedRef]:
    return [PostedRef(each.channel, each.ts) for each in posted]
