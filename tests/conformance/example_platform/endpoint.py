"""In: what Pigeon reports, kept by the inbox first and acknowledged after."""

from __future__ import annotations

import hmac
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from bot.chat.adapters import ChatContext
from bot.domain.errors import BotError, InteractionUnknown
from bot.domain.feedback import new_feedback
from bot.domain.interactions import PostedRef
from bot.domain.messages import Message, Person, Thread
from bot.domain.ports import Inbox, Interactions
from tests.conformance.example_platform.channel import PigeonChannel

PATH = "/platforms/pigeon/events"

Event = dict[str, Any]


def mount(app: web.Application, channel: PigeonChannel, office: ChatContext) -> None:
    """Serve what Pigeon reports."""
    app.router.add_post(PATH, Endpoint(channel, office.inbox, office.interactions).handle)


class Endpoint:
    """The way from a report to the inbox; decides nothing."""

    def __init__(self, channel: PigeonChannel, inbox: Inbox, interactions: Interactions) -> None:
        self._channel = channel
        self._inbox = inbox
        self._interactions = interactions

    async def handle(self, request: web.Request) -> web.Response:
        """Take one report; what could not be kept is not acknowledged, so it comes again."""
        given = request.headers.get("X-Pigeon-Secret", "")
        if not hmac.compare_digest(given.encode(), self._channel.settings.secret.encode()):
            raise web.HTTPUnauthorized(text="The secret is wrong.")
        try:
            await self._take(await request.json())
        except BotError as error:
            raise web.HTTPServiceUnavailable(text="It is not kept. Send it again.") from error
        return web.Response()

    async def _take(self, event: Event) -> None:
        match event["kind"]:
            case "asked":
                await self._inbox.accept(self._message(event))
            case "edited":
                await self._inbox.amend(self._message(event))
            case "deleted":
                with suppress(InteractionUnknown):  # it was no question to us
                    await self._inbox.cancel(self._message(event).interaction_id)
            case "judged":
                await self._judge(event)

    async def _judge(self, event: Event) -> None:
        ref = PostedRef(event["room"], event["note"])
        rated = await self._interactions.find_posted(self._channel.settings.tenant, ref)
        if rated is None:
            return
        if event["thumb"] is None:
            await self._interactions.unrate(rated.id, event["person"])
        else:
            await self._interactions.rate(new_feedback(rated.id, event["person"], event["thumb"]))

    def _message(self, event: Event) -> Message:
        """Return the question; room and id are the same however often it is reported."""
        tenant = self._channel.settings.tenant
        return Message(
            id=event["id"],
            thread=Thread("pigeon", tenant, event["room"], event["thread"]),
            author=Person(event["person"]),
            text=event["text"].strip(),
            received_at=datetime.now(UTC),
            private=event["private"],
        )
