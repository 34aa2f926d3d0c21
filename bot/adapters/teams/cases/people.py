"""The people's channel in Teams: who is asked when the bot can't answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from bot.adapters.teams.calling.connector import Connector
from bot.adapters.teams.calling.errors import NotPermitted
from bot.adapters.teams.cases.card import Aside
from bot.adapters.teams.cases.cards import Cards
from bot.adapters.teams.cases.reminders import Reminders
from bot.adapters.teams.home.places import Places
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_plain
from bot.domain.cases import Case, Notice
from bot.domain.errors import DeliveryRefused
from bot.domain.handoff import as_list_only, people_channel
from bot.domain.ports import Notes
from bot.domain.types import Delivery, Message, PostedRef
from bot.escalations.case_view import CaseView
from bot.escalations.ports import SeesCases

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Trouble:
    """The channel in which a question could not be shown to people last, and why."""

    channel: str
    why: str


class People:
    """Shows escalations in the channel for them: the question's own, or the configured one.

    ``public_url`` is where colleagues open the board, None where they have no address of it.
    """

    def __init__(
        self,
        connector: Connector,
        places: Places,
        notes: Notes,
        *,
        channel: str | None,
        public_url: str | None,
    ) -> None:
        self.trouble: Trouble | None = None
        self._channel = channel
        self._connector = connector
        self._places = places
        self._cards = Cards(connector, notes, public_url=public_url)
        self._reminders = Reminders(connector, places, notes, self._cards, public_url=public_url)

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen."""
        self._cards.attend(sees)

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; False when Teams does not let us. Raises DeliveryFailed for the rest.

        A refusal is not waited out: the board has the case, which its asker is told at once. True
        also where no card belongs to a delivery, or it is there.
        """
        channel = people_channel(delivery, self._channel)
        if channel is None:
            return True
        try:
            await self._cards.post(delivery, channel)
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("teams.people_not_asked", channel=channel, error=str(error))
            self.trouble = Trouble(channel, str(error))
            return False
        if self.trouble and self.trouble.channel == channel:
            self.trouble = None
        return True

    async def asked(self, delivery: Delivery) -> Delivery:
        """Ask people; return what its asker is told: no hand-over that did not happen."""
        if await self.ask(delivery):
            return delivery
        outcome = delivery.outcome
        return replace(delivery, outcome=replace(outcome, response=as_list_only(outcome.response)))

    async def show(self, message: Message, view: CaseView) -> None:
        """Bring the card of a question up to date. Raises DeliveryFailed, DeliveryRefused."""
        await self._cards.show(message, view)

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return where the card of a question is; without an id while that is not known.

        Raises StoreUnavailable.
        """
        if message.thread.platform != "teams":
            return None
        return await self._cards.noted(message.thread.tenant, message.interaction_id)

    async def found(self, message: Message, at: PostedRef) -> None:
        """Learn that the card of a question, whose place nobody knew, is at ``at``."""
        await self._cards.found(message, at)

    def face(self, message: Message, view: CaseView, aside: Aside | None = None) -> Json:
        """Return the card of a question as who has just pressed on it sees it."""
        return self._cards.face(message, view, aside)

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Say that a case still waits; None without a channel. Raises DeliveryFailed."""
        return await self._reminders.post(case, notice, self._channel)

    async def tell(self, text: str) -> None:
        """Post a line of plain text; nothing without a channel. Raises DeliveryFailed."""
        if self._channel is None:
            return
        said: Json = {"type": "message", "text": teams_plain(text), "textFormat": "markdown"}
        await self._connector.send(await self._places.channel(self._channel), said)

    async def withdraw(self, message: Message) -> None:
        """Delete the card of a question, and what reminded of it. Raises DeliveryFailed."""
        await self._reminders.remove(message)
        await self._cards.remove(message)
