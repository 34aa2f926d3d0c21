"""Post and update the cards of cases, and find the case of a click on a card.

A card never returns to an older version of its case; concurrent clicks share one look-up and one
refresh.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol
from weakref import WeakValueDictionary

import structlog

from bot.answering.asker_identity import EVERYONE_PRINCIPALS
from bot.domain.cases import SECOND_LEVEL, mark_card_thread
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, InteractionUnknown, StoreUnavailable
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message, Platform
from bot.domain.ports import Interactions, Notes
from bot.escalations.case_view import CaseView, view_of_delivery
from bot.escalations.casework import Casework
from rag.types import BoundedDict

_REMEMBERED = 1_000

EditCard = Callable[[Message, CaseView], Awaitable[bool]]
"""Edits the card of a question; returns whether there was one to edit."""

SendCard = Callable[[CaseView], Awaitable[str]]
"""Posts a card; returns its id."""

log = structlog.get_logger(__name__)


class CardUpdates:
    """Post and update the cards of one platform.

    Where a card is, is stored in a note, for all processes. The version of each case that this
    process last showed is kept here. ``edit`` edits the card of a question.
    """

    def __init__(self, platform: Platform, notes: Notes, edit: EditCard) -> None:
        self._platform = platform
        self._notes = notes
        self._edit = edit
        self.casework: Casework | None = None
        """The source of case views; until it is set a card shows the question as delivered."""
        self._shown = BoundedDict[InteractionId, int](_REMEMBERED)
        self._turns: WeakValueDictionary[InteractionId, asyncio.Lock] = WeakValueDictionary()

    async def post(self, delivery: Delivery, channel: str, send: SendCard) -> None:
        """Post the card of a question in a channel, which is stored before. Raises DeliveryFailed.

        It shows the question as delivered if the case can't be read. A case that joined another
        has none: the leading case's says how many asked.
        """
        message = delivery.message
        view = await self._seen(message) or view_of_delivery(delivery)
        if view.case.joined_to:
            return
        await self.store_place(message, PostedRef(channel, ""))
        await self.store_place(message, PostedRef(channel, await send(view)))
        self._note_version(view)
        await self._catch_up(message, view)

    async def show(self, message: Message, view: CaseView) -> None:
        """Edit the card, if there is one that does not show this version or a newer one.

        Raises DeliveryFailed, DeliveryRefused.
        """
        case = view.case
        turn = self._turns.setdefault(case.interaction_id, asyncio.Lock())
        async with turn:
            if self._shown.get(case.interaction_id, -1) < case.version and await self._edit(
                message, view
            ):
                self._note_version(view)

    async def place_of(self, tenant: str, case_id: InteractionId) -> PostedRef | None:
        """Return where a card is stored to be, with an empty id if only its channel is known.

        None for a question without a card. Raises StoreUnavailable.
        """
        return read_place(await self._notes.get(tenant, self._key(case_id)))

    async def store_place(self, message: Message, at: PostedRef) -> None:
        """Store where a card is; a failure is logged only."""
        case_id, tenant = message.interaction_id, message.thread.tenant
        text = f"{at.channel} {at.id}".rstrip()
        try:
            await self._notes.put(tenant, self._key(case_id), text, interaction_id=case_id)
            await mark_card_thread(self._notes, self._platform, tenant, case_id, at)
        except StoreUnavailable as error:
            log.warning("escalation.card_not_noted", platform=self._platform, why=str(error))

    async def forget_place(self, message: Message) -> None:
        """Remove what is stored of a card's place; a failure is logged only."""
        try:
            await self._notes.remove(message.thread.tenant, self._key(message.interaction_id))
        except StoreUnavailable as error:
            log.warning("escalation.card_not_noted", platform=self._platform, why=str(error))

    def _key(self, case_id: InteractionId) -> str:
        return f"{self._platform}:card:{case_id}"

    def _note_version(self, view: CaseView) -> None:
        case = view.case
        self._shown[case.interaction_id] = case.version

    async def _catch_up(self, message: Message, shown: CaseView) -> None:
        """Show changes made while a card was posted: their notices found no card to edit."""
        now = await self._seen(message)
        if now is None or now.case.version == shown.case.version:
            return
        try:
            await self.show(message, now)
        except BotError as error:
            log.warning("escalation.card_is_behind", platform=self._platform, why=str(error))

    async def _seen(self, message: Message) -> CaseView | None:
        if self.casework is None:
            return None
        try:
            return await self.casework.shown(
                message.thread.tenant, message.interaction_id, EVERYONE_PRINCIPALS
            )
        except BotError as error:
            log.warning("escalation.case_not_seen", platform=self._platform, why=str(error))
            return None


def read_place(text: str | None) -> PostedRef | None:
    """Return the place in a note about a card or reminder, None for no note."""
    channel, _, id_ = (text or "").partition(" ")
    return PostedRef(channel, id_) if channel else None


class ShowsCards(Protocol):
    """Finds and updates the cards of a platform: its channel."""

    async def card_of(self, message: Message) -> PostedRef | None: ...

    async def show(self, message: Message, view: CaseView) -> None: ...


class CardActions:
    """Handle clicks on the cards of one platform.

    ``second_channel`` is where the second level is asked: the buttons there work, too.
    """

    def __init__(
        self,
        *,
        tenant: str,
        casework: Casework,
        interactions: Interactions,
        cards: ShowsCards,
        background: BackgroundTasks,
        second_channel: str | None = None,
    ) -> None:
        self._second_channel = second_channel
        self._tenant = tenant
        self._casework = casework
        self._interactions = interactions
        self._cards = cards
        self._background = background
        self._refreshing: set[InteractionId] = set()
        self._next: dict[InteractionId, asyncio.Task[CaseView]] = {}
        self._turns: WeakValueDictionary[InteractionId, asyncio.Lock] = WeakValueDictionary()

    async def place(self, case_id: InteractionId, channel: str) -> tuple[Message, PostedRef]:
        """Return the question whose card is in a channel, and the card's position.

        Raises InteractionUnknown if its card is not there; DeliveryFailed, StoreUnavailable.
        """
        asked = await self._interactions.get(case_id)
        if asked is None or asked.message.thread.tenant != self._tenant:
            raise InteractionUnknown(f"There is no question {case_id!r} here.")
        at = await self._cards.card_of(asked.message)
        if at is None or not (at.channel == channel or await self._is_asked(case_id, channel)):
            raise InteractionUnknown(f"The card of {case_id!r} is not in {channel!r}.")
        return asked.message, at

    async def _is_asked(self, case_id: InteractionId, channel: str) -> bool:
        """Return whether a channel is the second level's, and it was asked about the case."""
        if channel != self._second_channel:
            return False
        return (await self._casework.bare(self._tenant, case_id)).case.level == SECOND_LEVEL

    async def channels_of(self, case_id: InteractionId) -> Sequence[str]:
        """Return the channels where a case is asked; raises as ``place``."""
        asked = await self._interactions.get(case_id)
        card = await self._cards.card_of(asked.message) if asked else None
        second = self._second_channel
        asks_second = second is not None and await self._is_asked(case_id, second)
        return [*([card.channel] if card else []), *([second] if second and asks_second else [])]

    async def view(self, case_id: InteractionId) -> CaseView:
        """Return the current view of a case's card. Raises InteractionUnknown, StoreUnavailable.

        A caller that arrives during a look-up shares the next one, which includes all acts before
        it.
        """
        looked = self._next.get(case_id)
        if looked is None:
            looked = self._next[case_id] = asyncio.create_task(self._looked(case_id))
            # Whoever waited for it may have left.
            looked.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await asyncio.shield(looked)

    def refresh(self, message: Message) -> None:
        """Refresh an outdated card in the background; concurrent clicks share one refresh."""
        case_id = message.interaction_id
        if case_id not in self._refreshing:
            self._refreshing.add(case_id)
            self._background.run(self._shown(message), what="card refreshed")

    async def _looked(self, case_id: InteractionId) -> CaseView:
        turn = self._turns.setdefault(case_id, asyncio.Lock())
        async with turn:
            del self._next[case_id]
            return await self._casework.shown(self._tenant, case_id, EVERYONE_PRINCIPALS)

    async def _shown(self, message: Message) -> None:
        try:
            await self._cards.show(message, await self.view(message.interaction_id))
        finally:
            self._refreshing.discard(message.interaction_id)
