"""The people's channel on Slack: who is asked when the bot can't answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calls import Caller
from bot.adapters.slack.errors import NeverPermitted, NotPermitted
from bot.adapters.slack.labels import CARD, Place, Posted, label, ts_of
from bot.adapters.slack.lookup import Lookup
from bot.adapters.slack.posting import Poster
from bot.adapters.slack.render import Forms, card
from bot.adapters.slack.telling import link, notice_label, parts_of, reminder
from bot.errors import DeliveryFailed, DeliveryRefused
from bot.escalations.types import Case, Notice
from bot.rendering.rendering import HandOver, hand_over
from bot.types import Delivery, InteractionId, Message, PostedRef

_UNSEEN = frozenset({"channel_not_found", "not_in_channel"})
"""The bot isn't in the channel, so no card of its is there that it could look for."""

_SKEW = timedelta(minutes=1)
"""Slack's clock may be so much behind ours; its messages are sought by their time."""

_PART = "1"

log = structlog.get_logger(__name__)


class People:
    """Shows escalations in the channel that is configured for them, if there is one.

    ``board`` is where colleagues open the board, None where they have no address of it.
    """

    def __init__(
        self, client: AsyncWebClient, caller: Caller, channel: str | None, board: str | None
    ) -> None:
        self._client = client
        self._caller = caller
        self._channel = channel
        self._board = board
        self._poster = Poster(client, caller)
        self._lookup = Lookup(client, caller)

    def are_asked(self, delivery: Delivery) -> bool:
        """Tell whether a card belongs to a delivery."""
        return self._channel is not None and hand_over(delivery) is not None

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; False when Slack does not let us. Raises DeliveryFailed for the rest.

        A refusal is not waited out: the asker is told at once that nobody was reached.
        """
        asked = hand_over(delivery)
        if asked is None or self._channel is None:
            return True
        place = _place(self._channel, delivery.message)
        forms = await self._card(delivery.message, asked)
        try:
            await self._poster.post(place, forms, label(delivery, CARD, of=1))
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("slack.people_not_asked", channel=self._channel, error=str(error))
            return False
        return True

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Say that a case still waits; None without a channel. Raises DeliveryFailed.

        What an earlier attempt may have posted is looked up before it is posted again.
        """
        if self._channel is None:
            return None
        place = Place(self._channel, None, since=f"{(case.opened_at - _SKEW).timestamp():.6f}")
        there = await self._posted(place, notice)
        told = parts_of(notice, there).get(_PART)
        if told is not None:
            return PostedRef(told.channel, told.ts)
        links = await self._links(case.interaction_id, there)
        forms = reminder(case, notice, now=datetime.now(UTC), links=links)
        ts = await self._poster.post(place, forms, notice_label(notice, _PART, of=1))
        return PostedRef(self._channel, ts)

    async def cards(self, message: Message) -> tuple[Posted, ...]:
        """Return the cards about a message that are there. Raises DeliveryFailed."""
        if self._channel is None:
            return ()
        place = _place(self._channel, message)
        try:
            return await self._lookup.search(place, message.interaction_id)
        except (NotPermitted, NeverPermitted) as error:
            if error.code in _UNSEEN:
                return ()
            raise

    async def _posted(self, place: Place, notice: Notice) -> Sequence[Posted]:
        """Return what the channel holds of a case; a first reminder does without."""
        try:
            return await self._lookup.search(place, notice.interaction_id)
        except DeliveryFailed as error:
            if notice.attempts:
                raise
            log.warning("slack.card_not_found", error=str(error))
            return ()

    async def _links(self, case_id: InteractionId, there: Sequence[Posted]) -> list[str]:
        """Return the ways to a case: its card in this channel, and the board."""
        links = []
        shown = next((each for each in there if each.label.part == CARD), None)
        permalink = await self.permalink(shown.channel, shown.ts) if shown else None
        if permalink is not None:
            links.append(link(permalink, "See the question"))
        if self._board is not None:
            links.append(link(f"{self._board}/escalations/{case_id}", "Take it on the board"))
        return links

    async def _card(self, message: Message, asked: HandOver) -> Forms:
        private = message.private
        permalink = (
            None if private else await self.permalink(message.thread.channel, ts_of(message))
        )
        now = datetime.now(UTC)
        return card(asked, author=message.author.id, permalink=permalink, now=now)

    async def permalink(self, channel: str, ts: str) -> str | None:
        """Return the address of a message; None where Slack gives none."""
        try:
            answer = await self._caller.call(
                "chat.getPermalink",
                lambda: self._client.chat_getPermalink(channel=channel, message_ts=ts),
            )
        except DeliveryFailed as error:
            log.warning("slack.no_permalink", error=str(error))
            return None
        return str(answer["permalink"])


def _place(channel: str, message: Message) -> Place:
    return Place(channel, None, since=ts_of(message))
