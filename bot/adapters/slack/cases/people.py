"""The people's channel on Slack: who is asked when the bot can't answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.answers import UNSEEN
from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.calling.errors import NeverPermitted, NotPermitted
from bot.adapters.slack.cases.cards import Cards
from bot.adapters.slack.cases.reminders import link, reminder
from bot.adapters.slack.cases.telling import notice_label, parts_of
from bot.adapters.slack.home.standing import Standing
from bot.adapters.slack.showing.blocks import section
from bot.adapters.slack.showing.lookup import Lookup
from bot.adapters.slack.showing.posting import Poster
from bot.adapters.slack.showing.render import Form
from bot.adapters.slack.wire.labels import CARD, Label, Place, Posted, since, ts_of
from bot.adapters.slack.wire.text import escaped_label
from bot.domain.cases import Case, Notice
from bot.domain.errors import DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.domain.handoff import people_channel
from bot.domain.ports import Notes
from bot.domain.text.markdown import disarm, without_code
from bot.domain.text.source_links import board_case
from bot.domain.types import Delivery, InteractionId, Message, PostedRef
from bot.escalations.case_view import CaseView
from bot.escalations.ports import SeesCases

_PART = "1"
_NEWS = Label("", InteractionId(""), "news", 1)
"""What belongs to no question, and is never looked for."""

log = structlog.get_logger(__name__)


class People:
    """Shows escalations in the channel for them: the question's own, or the configured one.

    ``public_url`` is where colleagues open the board, None where they have no address of it.
    ``standing`` is told which channel can't be reached.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        caller: Caller,
        notes: Notes,
        *,
        channel: str | None,
        public_url: str | None,
        standing: Standing,
    ) -> None:
        self._channel = channel
        self._standing = standing
        self._public_url = public_url
        self._poster = Poster(client, caller)
        self._lookup = Lookup(client, caller)
        self._cards = Cards(client, caller, notes, channel=channel, public_url=public_url)

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen."""
        self._cards.attend(sees)

    def are_asked(self, delivery: Delivery) -> bool:
        """Tell whether a card belongs to a delivery."""
        return people_channel(delivery, self._channel) is not None

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; False when Slack does not let us. Raises DeliveryFailed for the rest.

        A refusal is not waited out: the board has the case, which its asker is told at once.
        """
        channel = people_channel(delivery, self._channel)
        if channel is None:
            return True
        try:
            await self._cards.post(delivery, channel)
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("slack.people_not_asked", channel=channel, error=str(error))
            self._standing.missed_people(channel, str(error))
            return False
        self._standing.reached_people(channel)
        return True

    async def show(self, message: Message, view: CaseView) -> None:
        """Bring the card of a question up to date. Raises DeliveryFailed, DeliveryRefused."""
        await self._cards.show(message, view)

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return where the card of a question is. Raises DeliveryFailed, StoreUnavailable."""
        return await self._cards.at(message)

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Say that a case still waits; None without a channel. Raises DeliveryFailed.

        What an earlier attempt may have posted is looked up before it is posted again.
        """
        shown = await self._cards.noted(case.tenant, case.interaction_id)
        channel = shown.channel if shown else self._channel
        if channel is None:
            return None
        place = Place(channel, None, since=since(case.opened_at))
        looks = notice.attempts > 0 or shown is None or not shown.id
        there = await self._posted(place, notice) if looks else ()
        told = parts_of(notice, there).get(_PART)
        if told is not None:
            return PostedRef(told.channel, told.ts)
        links = await self._links(case.interaction_id, _card(there, shown))
        forms = reminder(case, notice, now=datetime.now(UTC), links=links)
        ts = await self._poster.post(place, forms, notice_label(notice, _PART, of=1))
        posted = PostedRef(channel, ts)
        await self._cards.note_thread(case, posted)
        return posted

    async def tell(self, text: str) -> None:
        """Post a line of plain text; nothing without a channel. Raises DeliveryFailed."""
        if self._channel is None:
            return
        said = escaped_label(disarm(without_code(text)))
        forms = (Form(said, (section(said),)), Form(said))
        await self._poster.post(Place(self._channel, None, since="0"), forms, _NEWS)

    async def cards(self, message: Message) -> tuple[Posted, ...]:
        """Return the cards about a message, and reminders, that are there. Raises DeliveryFailed.

        Where the record can't say where that is, it is looked for where it usually is.
        """
        try:
            shown = await self._cards.noted(message.thread.tenant, message.interaction_id)
        except StoreUnavailable as error:
            log.warning("slack.card_unknown", why=str(error))
            shown = None
        channel = shown.channel if shown else self._channel
        if channel is None:
            return ()
        place = Place(channel, None, since=ts_of(message))
        found = await self._seen(place, message.interaction_id)
        if shown is None or not shown.id or any(each.ts == shown.id for each in found):
            return found
        return (*found, Posted(channel, shown.id, Label("", message.interaction_id, CARD, 1)))

    async def permalink(self, channel: str, ts: str) -> str | None:
        """Return the address of a message; None where Slack gives none."""
        return await self._cards.permalink(channel, ts)

    async def _seen(self, place: Place, case_id: InteractionId) -> tuple[Posted, ...]:
        try:
            return await self._lookup.search(place, case_id)
        except (NotPermitted, NeverPermitted) as error:
            if error.code in UNSEEN:
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

    async def _links(self, case_id: InteractionId, shown: PostedRef | None) -> list[str]:
        """Return the ways to a case: its card in this channel, and the board."""
        links = []
        permalink = await self.permalink(shown.channel, shown.id) if shown else None
        if permalink is not None:
            links.append(link(permalink, "See the question"))
        if board := board_case(case_id, self._public_url):
            links.append(link(board, "Take it on the board"))
        return links


def _card(there: Sequence[Posted], noted: PostedRef | None) -> PostedRef | None:
    if noted is not None and noted.id:
        return noted
    found = next((each for each in there if each.label.part == CARD), None)
    return PostedRef(found.channel, found.ts) if found else None
