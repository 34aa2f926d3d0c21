"""Deliver replies to commands at their response URLs.

Only one person sees such a message, and Slack can't be asked for it afterwards.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import structlog

from bot.domain.errors import DeliveryFailed
from bot.domain.handoff import as_ephemeral, as_list_only
from bot.domain.interactions import Delivery, PostedRef, Response
from bot.domain.outcomes import undelivered_text
from bot.domain.ports import Notes
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import (
    FormsRefused,
    NeverPermitted,
    NotPermitted,
    ResultUnknown,
)
from bot.platforms.slack.escalations.people_channel import PeopleChannel
from bot.platforms.slack.messages.replies import delivery_messages
from bot.platforms.slack.payloads.events import response_url_of
from bot.platforms.slack.payloads.metadata import Place, label_of, ts_of
from bot.platforms.slack.rendering import MessageForm, MessageForms
from rag.lru import LruDict

_URL_LIFETIME = timedelta(minutes=29)
"""Slack accepts a response URL for half an hour; this leaves time for the request."""

_REMEMBERED = 1_000
_CARD_NUMBER = 0
"""The number of the part before the first: the escalation card."""

log = structlog.get_logger(__name__)


class CommandReplies:
    """Delivers ephemeral replies to commands, which can't be looked up afterwards.

    So each part is recorded before it is sent, and sent again only if it surely failed: better once
    than twice. When the response URL is used up, a direct message is sent instead.
    """

    def __init__(self, client: SlackClient, notes: Notes, people: PeopleChannel) -> None:
        self._client = client
        self._notes = notes
        self._people = people
        self._begun = LruDict[str, int | None](_REMEMBERED)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Send the parts not sent yet. Raises DeliveryFailed; the other parts are then still due.

        Raises also StoreUnavailable, before anything is sent.
        """
        begun = await self._begun_of(delivery)
        response = await self._response(delivery, begun)
        ref = _ephemeral_ref(delivery)
        parts = delivery_messages(delivery, response)
        for number, forms in enumerate(parts, start=1):
            if begun is not None and number <= begun:
                continue
            await self._note(delivery, number)
            ref = await self._once(delivery, number, forms, total=len(parts))
        return ref

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Return a reply's reference if all its parts may have been sent, None if some were not.

        Raises StoreUnavailable.
        """
        begun = await self._begun_of(delivery)
        total = len(delivery_messages(delivery, delivery.outcome.response))
        return _ephemeral_ref(delivery) if begun is not None and begun >= total else None

    async def _once(
        self, delivery: Delivery, number: int, forms: MessageForms, *, total: int
    ) -> PostedRef:
        """Send a part; one with an unknown result counts as sent."""
        try:
            return await self._send(delivery, number, forms, total=total)
        except ResultUnknown as error:
            log.warning("slack.response_unknown", error=str(error))
            return _ephemeral_ref(delivery)
        except DeliveryFailed:
            await self._note(delivery, number - 1)
            raise

    async def _send(
        self, delivery: Delivery, number: int, forms: MessageForms, *, total: int
    ) -> PostedRef:
        message = delivery.message
        url = response_url_of(message)
        if url and datetime.now(UTC) - message.received_at < _URL_LIFETIME:
            try:
                await self._client.respond(url, forms, command_reply=True)
            except (NotPermitted, NeverPermitted) as error:
                log.info("slack.response_url_closed", error=str(error))
            except FormsRefused:
                line = MessageForm(undelivered_text(message, delivery.outcome, "Slack"))
                with suppress(DeliveryFailed):
                    await self._client.respond(url, (line,), command_reply=True)
                raise
            else:
                return _ephemeral_ref(delivery)
        try:
            direct = await self._client.conversations_open(message.author.id)
        except ResultUnknown as error:
            # Opening it twice does no harm.
            raise DeliveryFailed(str(error)) from error
        place = Place(direct, None, since=ts_of(message))
        ts = await self._client.chat_post_message(
            place, forms, label_of(delivery, str(number), total=total), kind="private reply"
        )
        return PostedRef(place.channel, ts)

    async def _response(self, delivery: Delivery, begun: int | None) -> Response:
        """Post the escalation card first, if one is due and not posted; return the response."""
        response = as_ephemeral(delivery.outcome.response)
        has_card = self._people.are_asked(delivery)
        if has_card and begun is not None and await self._people.cards(delivery.message):
            return response
        if begun is None:
            await self._note(delivery, _CARD_NUMBER)
        return response if await self._people.ask(delivery) else as_list_only(response)

    async def _begun_of(self, delivery: Delivery) -> int | None:
        """Return the number of the last part that may have been sent, None before the first try."""
        if delivery.id not in self._begun:
            noted = await self._notes.get(_tenant(delivery), _key(delivery))
            self._begun[delivery.id] = int(noted) if noted and noted.isdecimal() else None
        return self._begun[delivery.id]

    async def _note(self, delivery: Delivery, number: int) -> None:
        await self._notes.put(
            _tenant(delivery),
            _key(delivery),
            str(number),
            interaction_id=delivery.interaction_id,
        )
        self._begun[delivery.id] = number


def _ephemeral_ref(delivery: Delivery) -> PostedRef:
    """Return a reference for an ephemeral message, which has no ts: the delivery's id."""
    return PostedRef(delivery.message.thread.channel, delivery.id)


def _tenant(delivery: Delivery) -> str:
    return delivery.message.thread.tenant


def _key(delivery: Delivery) -> str:
    return f"slack:response:{delivery.id}"
