"""Post cards and reminders in the people's channel, and handle presses on the cards."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import structlog

from bot.chat.actions import ActionTargets
from bot.chat.adapters import ChatContext
from bot.domain.cases import (
    NO_DETAIL,
    Act,
    ActDetail,
    Actor,
    Case,
    Notice,
    expert_of,
    mark_card_thread,
)
from bot.domain.errors import ActRefused, DeliveryRefused, RateLimited, StoreUnavailable
from bot.domain.handoff import as_list_only, people_channel
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message, Person
from bot.domain.ports import Notes
from bot.domain.urls import board_case
from bot.escalations.cards import CardActions, CardUpdates, read_place
from bot.escalations.case_view import (
    CASE_FORMS,
    NO_SUCH_MEMBER,
    CaseLinks,
    CaseView,
)
from bot.escalations.casework import IdempotentActs
from bot.platforms.teams.case_card import (
    VERSION_KEY,
    PresserNote,
    assignee_in,
    card_message,
    case_card,
    with_case_buttons,
    words_in,
)
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.errors import Gone, NotPermitted
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.notices import reminder_message
from bot.platforms.teams.payloads.actions import CASE_ACTIONS, Press
from bot.platforms.teams.payloads.activity import (
    Json,
    question_link,
    reference_to,
    text_at,
    thread_conversation,
)
from bot.platforms.teams.rendering.cards import card_answer
from bot.platforms.teams.rendering.text import teams_plain
from rag.types import BoundedDict

_REMEMBERED = 1_000

log = structlog.get_logger(__name__)


def _card_thread(message: Message, at: PostedRef) -> str:
    """Return a reference to the thread of a card, with the service URL of the question."""
    return reference_to(message.reply_to, thread_conversation(at))


def _read_key(channel: str) -> str:
    return f"teams:read:{channel}"


def _reminder_key(case_id: InteractionId, notice_id: str) -> str:
    return f"teams:reminder:{case_id}:{notice_id}"


@dataclass(frozen=True, slots=True)
class ChannelTrouble:
    """The channel in which the last escalation failed, and why."""

    channel: str
    why: str


class PeopleChannel:
    """Posts escalations in the question's own people's channel, or the configured one.

    A card's channel is stored before the card is posted. Teams can't be searched: if a process dies
    in between, a second card is posted, and the first remains. If no card's id is stored, the card
    on which somebody presses becomes the one that is kept up to date.

    ``public_url`` is the base URL of the board; None if it has no public address.
    """

    def __init__(
        self,
        client: TeamsClient,
        notes: Notes,
        *,
        channel: str | None,
        second_channel: str | None,
        public_url: str | None,
    ) -> None:
        self.trouble: ChannelTrouble | None = None
        self.updates = CardUpdates("teams", notes, self._edit_card)
        self._channel = channel
        self._second_channel = second_channel
        self._client = client
        self._notes = notes
        self._public_url = public_url
        self._known = BoundedDict[InteractionId, PostedRef](_REMEMBERED)
        self._read: set[str] = set()

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; return False if Teams refuses it. Raises DeliveryFailed otherwise.

        A refusal is not retried: the case is on the board, and its asker is told at once. Returns
        True also if the delivery needs no card, or its card is posted already.
        """
        channel = people_channel(delivery, self._channel)
        if channel is None:
            return True
        try:
            await self._post_card(delivery, channel)
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("teams.people_not_asked", channel=channel, error=str(error))
            self.trouble = ChannelTrouble(channel, str(error))
            return False
        if self.trouble and self.trouble.channel == channel:
            self.trouble = None
        return True

    async def ask_and_adjust(self, delivery: Delivery) -> Delivery:
        """Post the card; return the delivery for the asker, without the hand-over if it failed."""
        if await self.ask(delivery):
            return delivery
        outcome = delivery.outcome
        return replace(delivery, outcome=replace(outcome, response=as_list_only(outcome.response)))

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return where the card of a question is, with an empty id if that is not known.

        Raises StoreUnavailable.
        """
        if message.thread.platform != "teams":
            return None
        return await self.updates.place_of(message.thread.tenant, message.interaction_id)

    async def card_for_presser(
        self, message: Message, view: CaseView, channel: str, note: PresserNote | None = None
    ) -> Json:
        """Return the card for the person who just pressed a button on it, in a channel."""
        now, read = datetime.now(UTC), await self._is_read(message.thread.tenant, channel)
        return case_card(message, view, self._links(message), now=now, note=note, read=read)

    async def note_read(self, tenant: str, channel: str) -> None:
        """Store that messages of a channel reach the bot without a mention, for all processes."""
        if channel not in self._read:
            await self._notes.put(tenant, _read_key(channel), "read")
            self._read.add(channel)

    async def _is_read(self, tenant: str, channel: str) -> bool:
        """Return whether messages of a channel are known to reach the bot without a mention.

        While the record can't be asked, what this process has seen counts.
        """
        with suppress(StoreUnavailable):
            if channel not in self._read and await self._notes.get(tenant, _read_key(channel)):
                self._read.add(channel)
        return channel in self._read

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Post a reminder of an open case: below its card, else in the configured channel.

        Returns None without both; without a stored place it posts again. Raises DeliveryFailed,
        StoreUnavailable.
        """
        card = await self.updates.place_of(case.tenant, case.interaction_id)
        where = card.channel if card else self._channel
        second = notice.step == "second_level"
        if second:
            where = self._second_channel
        if where is None:
            return None
        key = _reminder_key(case.interaction_id, notice.id)
        before = read_place(await self._notes.get(case.tenant, key))
        if before and before.id:
            return before
        place = await self._client.conversations.channel(
            thread_conversation(card) if card and card.id and not second else where
        )
        shown = reminder_message(
            case, notice, board_case(case.interaction_id, self._public_url), now=datetime.now(UTC)
        )
        if second and card is not None:
            shown = with_case_buttons(shown, case)
        posted = PostedRef(where, await self._client.send(place, shown))
        await self._note_reminder(case, key, posted)
        return posted

    async def tell(self, text: str) -> None:
        """Post a line of plain text; do nothing without a channel. Raises DeliveryFailed."""
        if self._channel is None:
            return
        said: Json = {"type": "message", "text": teams_plain(text), "textFormat": "markdown"}
        await self._client.send(await self._client.conversations.channel(self._channel), said)

    async def withdraw(self, message: Message) -> None:
        """Delete the card of a question and its reminders, which quote it.

        Raises DeliveryFailed, StoreUnavailable.
        """
        key = _reminder_key(message.interaction_id, "")
        noted = await self._notes.beginning(message.thread.tenant, key)
        places = filter(None, map(read_place, noted.values()))
        for posted in (place for place in places if place.id):
            try:
                there = await self._client.conversations.channel(posted.channel)
                await self._client.delete(there, posted.id)
            except DeliveryRefused as error:
                log.info("teams.reminder_gone", why=str(error))
        card = await self.updates.place_of(message.thread.tenant, message.interaction_id)
        if card and card.id:
            try:
                await self._client.delete(_card_thread(message, card), card.id)
            except DeliveryRefused as error:
                log.info("teams.card_gone", why=str(error))

    async def _post_card(self, delivery: Delivery, channel: str) -> None:
        """Post the card of a question, unless it is known to be posted. Raises DeliveryFailed."""
        message = delivery.message
        before = await self._earlier_place(message)
        if before and before.id:
            return
        if before:
            log.warning("teams.card_may_be_twice", interaction_id=message.interaction_id)
        sending = partial(self._send_card, message, channel, first=before is None)
        await self.updates.post(delivery, channel, sending)

    async def _send_card(
        self, message: Message, channel: str, view: CaseView, *, first: bool
    ) -> str:
        """Post the card; clear the stored place if Teams refuses the first attempt.

        A refusal means that Teams did nothing, so that no card can be there.
        """
        there = reference_to(message.reply_to, channel)
        try:
            posted = await self._client.send(
                there, await self._card_message(message, view, channel)
            )
        except (RateLimited, DeliveryRefused):
            if first:
                await self.updates.forget_place(message)
            raise
        self._known[message.interaction_id] = PostedRef(channel, posted)
        return posted

    async def _edit_card(self, message: Message, view: CaseView) -> bool:
        at = await self.updates.place_of(message.thread.tenant, message.interaction_id)
        if at is None or not at.id:
            return False
        try:
            shown = await self._card_message(message, view, at.channel)
            await self._client.update(_card_thread(message, at), at.id, shown)
        except Gone:
            log.info("teams.card_gone", interaction_id=message.interaction_id)
        return True

    async def _card_message(self, message: Message, view: CaseView, channel: str) -> Json:
        now, read = datetime.now(UTC), await self._is_read(message.thread.tenant, channel)
        return card_message(message, view, self._links(message), now=now, read=read)

    def _links(self, message: Message) -> CaseLinks:
        board = board_case(message.interaction_id, self._public_url)
        return CaseLinks(question_link(message) or "", board, self._public_url)

    async def _earlier_place(self, message: Message) -> PostedRef | None:
        """Return where an earlier attempt may have posted the card.

        Without the store, what this process remembers is used: asking people must not wait. A place
        that this process could not store earlier is stored now.
        """
        known = self._known.get(message.interaction_id)
        try:
            noted = await self.updates.place_of(message.thread.tenant, message.interaction_id)
        except StoreUnavailable as error:
            log.warning("teams.card_unknown", why=str(error))
            return known
        if known is None or (noted and noted.id):
            return noted
        await self.updates.store_place(message, known)
        return known

    async def _note_reminder(self, case: Case, key: str, at: PostedRef) -> None:
        text = f"{at.channel} {at.id}"
        try:
            await self._notes.put(case.tenant, key, text, interaction_id=case.interaction_id)
            # Without a card in Teams the reminder begins a thread of its own.
            await mark_card_thread(self._notes, "teams", case.tenant, case.interaction_id, at)
        except StoreUnavailable as error:
            log.warning("teams.reminder_not_noted", why=str(error))


FindMember = Callable[[str, str], Awaitable[Person | None]]
"""Returns the colleague with a name or address among the members of a channel, by its id."""


class CaseButtons:
    """Handles the buttons and forms of a case card. Implements `Listener`.

    The presser gets the current card at once, everybody else when it is edited. A presser whose
    action is refused sees the reason, and keeps their text.
    """

    def __init__(
        self,
        context: ChatContext,
        targets: ActionTargets,
        cards: CardActions,
        people: PeopleChannel,
        find_member: FindMember,
    ) -> None:
        self._find_member = find_member
        self._tenant = tenant = context.tenant
        self._casework = casework = context.casework
        self._idempotent = IdempotentActs(tenant=tenant, casework=casework, notes=context.notes)
        self._targets = targets
        self._cards = cards
        self._people = people

    def register(self, dispatch: Dispatch) -> None:
        for act, name in CASE_ACTIONS.items():
            if act == "see_more":  # SeeMoreButton's
                continue
            dispatch.on_press(name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> Json:
        actor = await self._targets.expert(press.presser)
        message, at = await self._cards.place(press.about, press.channel)
        note = await self._apply(act, press, actor)
        view = await self._cards.view(press.about)
        if press.on and not at.id and at.channel == press.channel:
            await self._people.updates.store_place(message, PostedRef(press.channel, press.on))
        if note is not None:
            self._cards.refresh(message)
        return card_answer(await self._people.card_for_presser(message, view, press.channel, note))

    async def _apply(self, act: Act, press: Press, actor: Actor) -> PresserNote | None:
        """Apply an action; return a note for the presser if it was refused, else None."""
        words = words_in(act, press.data) if act in CASE_FORMS else ""
        try:
            if act in CASE_FORMS:
                key = _form_key(act, press, actor, words)
                detail = await self._assignee(press) if act == "assign" else NO_DETAIL
                await self._idempotent.say(key, press.about, act, actor, words, detail)
            else:
                await self._casework.act(self._tenant, press.about, act, actor)
        except ActRefused as error:
            return PresserNote(str(error), words)
        return None

    async def _assignee(self, press: Press) -> ActDetail:
        """Return the colleague named in a form, a member of the card's channel."""
        found = await self._find_member(press.channel, assignee_in(press.data))
        if found is None:
            raise ActRefused(NO_SUCH_MEMBER)
        return ActDetail(expert_of("teams", found))


def _form_key(act: Act, press: Press, actor: Actor, words: str) -> str:
    """Return the idempotency key of a form: same text, same version of the case, sent twice.

    After an action the writer's next card has another version, so the same text counts again.
    """
    said = hashlib.sha256(f"{act}\n{actor.id}\n{words}".encode()).hexdigest()[:32]
    return f"teams:form:{press.about}:{text_at(press.data, VERSION_KEY)}:{said}"
