"""Post cards, reminders and lines in the escalation channel, and handle presses on the cards.

A card's channel is recorded before the card is posted: if a process dies in between, its card is
looked up by its metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.chat.actions import ActionRejected, ActionTargets, interaction_named
from bot.chat.adapters import ChatContext
from bot.domain.cases import (
    NO_DETAIL,
    Act,
    ActDetail,
    Actor,
    Case,
    Notice,
    mark_card_thread,
)
from bot.domain.errors import ActRefused, DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.domain.handoff import people_channel
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.markdown import disarm, without_code
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Notes
from bot.domain.texts import tr
from bot.domain.urls import board_case
from bot.escalations import lifecycle
from bot.escalations.cards import CardActions, CardUpdates
from bot.escalations.case_view import (
    CASE_FORMS,
    NO_COLLEAGUE,
    NOT_A_MEMBER,
    CaseLinks,
    CaseView,
)
from bot.escalations.casework import IdempotentActs
from bot.platforms.slack.actions.interactivity import (
    Press,
    PressDispatcher,
    presser_in,
    submit_modal,
    submitted_field,
    typed_value,
)
from bot.platforms.slack.bot_identity import SlackHealth
from bot.platforms.slack.case_card import (
    ASSIGNEE_FIELD,
    CARD_BUTTONS,
    CASE_MODALS,
    TEXT_FIELD,
    case_card,
    case_modal,
    with_case_buttons,
)
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import NOT_IN_CHANNEL, NeverPermitted, NotPermitted
from bot.platforms.slack.client.posting import language_of
from bot.platforms.slack.notices import reminder_message
from bot.platforms.slack.payloads.events import id_at, object_at, text_at
from bot.platforms.slack.payloads.markup import escaped_label
from bot.platforms.slack.payloads.metadata import (
    CARD_PART,
    MessageLabel,
    Place,
    PostedMessage,
    label_of,
    parts_of,
    ts_of,
    ts_since,
)
from bot.platforms.slack.rendering import MessageForm, MessageForms, mrkdwn_link, section

log = structlog.get_logger(__name__)


_REMINDER_PART = "1"
_UNTRACKED = MessageLabel("", InteractionId(""), "news", 1)
"""The label of messages that belong to no question and are never looked up."""


class PeopleChannel:
    """Posts escalations in their channel: the question's own, or the configured one.

    It records where each card is, and edits it there, whichever process posted it.
    ``public_url`` is where colleagues open the board, None if it has no address.
    ``health`` records which channel can't be reached.
    """

    def __init__(
        self,
        client: SlackClient,
        notes: Notes,
        *,
        channel: str | None,
        second_channel: str | None,
        public_url: str | None,
        health: SlackHealth,
    ) -> None:
        self._client = client
        self._notes = notes
        self._channel = channel
        self._second_channel = second_channel
        self._public_url = public_url
        self._health = health
        self.updates = CardUpdates("slack", notes, self._edit)

    def are_asked(self, delivery: Delivery) -> bool:
        """Return whether a delivery has a card."""
        return people_channel(delivery, self._channel) is not None

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; return False if Slack refuses it. Raises DeliveryFailed for other errors.

        A refusal is not waited out: the board has the case, and its asker is told so at once.
        """
        channel = people_channel(delivery, self._channel)
        if channel is None:
            return True
        try:
            sending = partial(self._send_card, delivery, channel)
            await self.updates.post(delivery, channel, sending)
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("slack.people_not_asked", channel=channel, error=str(error))
            problem = f"People can't be asked in {channel}: the board alone has it."
            self._health.note(channel, problem, cure=str(error))
            return False
        self._health.clear(channel)
        return True

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return the reference of a question's card. Raises DeliveryFailed, StoreUnavailable."""
        if message.thread.platform != "slack":
            return None
        noted = await self.updates.place_of(message.thread.tenant, message.interaction_id)
        channel = noted.channel if noted else self._channel
        if (noted and noted.id) or channel is None:
            return noted
        place = Place(channel, None, since=ts_of(message))
        posted = await self._client.find_messages(place, message.interaction_id)
        card = next((each for each in posted if each.label.part == CARD_PART), None)
        if card is not None:
            await self.updates.store_place(message, card.ref)
        return card.ref if card else None

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Post a reminder of a waiting case; None without a channel. Raises DeliveryFailed.

        A reminder that an earlier attempt may have posted is looked up first.
        """
        card = await self.updates.place_of(case.tenant, case.interaction_id)
        channel = card.channel if card else self._channel
        if notice.step == "second_level":
            channel = self._second_channel
        if channel is None:
            return None
        place = Place(channel, None, since=ts_since(case.opened_at))
        look_up = notice.attempts > 0 or card is None or not card.id
        found = await self._posted(place, notice) if look_up else ()
        reminder = parts_of(notice.id, found).get(_REMINDER_PART)
        if reminder is not None:
            return reminder.ref
        links = await self._links(case.interaction_id, _card_ref(found, card))
        forms = reminder_message(case, notice, now=datetime.now(UTC), links=links)
        if card is not None and notice.step == "second_level":
            forms = with_case_buttons(forms, case)
        ts = await self._client.chat_post_message(
            place, forms, label_of(notice, _REMINDER_PART, total=1), kind="reminder"
        )
        posted = PostedRef(channel, ts)
        await self._note_reminder(case, posted)
        return posted

    async def tell(self, text: str) -> None:
        """Post a line of plain text, if there is a channel. Raises DeliveryFailed."""
        if self._channel is None:
            return
        line = escaped_label(disarm(without_code(text)))
        forms = (MessageForm(line, (section(line),)), MessageForm(line))
        await self._client.chat_post_message(
            Place(self._channel, None, since="0"), forms, _UNTRACKED, kind="reminder"
        )

    async def cards(self, message: Message) -> tuple[PostedMessage, ...]:
        """Return the posted cards and reminders about a message. Raises DeliveryFailed.

        If their channel is not recorded, or can't be read, the configured one is searched.
        """
        try:
            card = await self.updates.place_of(message.thread.tenant, message.interaction_id)
        except StoreUnavailable as error:
            log.warning("slack.card_unknown", why=str(error))
            card = None
        channel = card.channel if card else self._channel
        if channel is None:
            return ()
        place = Place(channel, None, since=ts_of(message))
        found = await self._find_if_there(place, message.interaction_id)
        if self._second_channel not in {None, channel}:
            second = replace(place, channel=self._second_channel or "")
            found = (*found, *await self._find_if_there(second, message.interaction_id))
        if card is None or not card.id or any(each.ts == card.id for each in found):
            return found
        return (
            *found,
            PostedMessage(channel, card.id, MessageLabel("", message.interaction_id, CARD_PART, 1)),
        )

    async def _send_card(self, delivery: Delivery, channel: str, view: CaseView) -> str:
        place = Place(channel, None, since=ts_of(delivery.message))
        forms = await self._forms(delivery.message, view)
        label = label_of(delivery, CARD_PART, total=1)
        return await self._client.chat_post_message(place, forms, label, kind="card")

    async def _note_reminder(self, case: Case, ref: PostedRef) -> None:
        """Record that messages below a reminder belong to the case's card, too."""
        try:
            await mark_card_thread(self._notes, "slack", case.tenant, case.interaction_id, ref)
        except StoreUnavailable as error:
            log.warning("slack.reminder_not_noted", why=str(error))

    async def _edit(self, message: Message, view: CaseView) -> bool:
        ref = await self.card_of(message)
        if ref is not None:
            await self._client.chat_update(ref, await self._forms(message, view), kind="card")
        return ref is not None

    async def _forms(self, message: Message, view: CaseView) -> MessageForms:
        thread = None
        if not message.private:
            thread = await self._client.chat_get_permalink(message.thread.channel, ts_of(message))
        board = board_case(view.case.interaction_id, self._public_url)
        links = CaseLinks(thread or "", board, self._public_url)
        return case_card(message, view, links, now=datetime.now(UTC))

    async def _find_if_there(
        self, place: Place, case_id: InteractionId
    ) -> tuple[PostedMessage, ...]:
        try:
            return await self._client.find_messages(place, case_id)
        except (NotPermitted, NeverPermitted) as error:
            if error.code in NOT_IN_CHANNEL:
                return ()
            raise

    async def _posted(self, place: Place, notice: Notice) -> Sequence[PostedMessage]:
        """Return a case's messages in the channel; () if that fails for a first reminder."""
        try:
            return await self._client.find_messages(place, notice.interaction_id)
        except DeliveryFailed as error:
            if notice.attempts:
                raise
            log.warning("slack.card_not_found", error=str(error))
            return ()

    async def _links(self, case_id: InteractionId, card: PostedRef | None) -> list[str]:
        """Return links to a case: to its card in this channel, and to the board."""
        links = []
        permalink = await self._client.chat_get_permalink(card.channel, card.id) if card else None
        if permalink is not None:
            links.append(mrkdwn_link(permalink, tr("Show question")))
        if board := board_case(case_id, self._public_url):
            links.append(mrkdwn_link(board, tr("Open on the board")))
        return links


def _card_ref(found: Sequence[PostedMessage], noted: PostedRef | None) -> PostedRef | None:
    if noted is not None and noted.id:
        return noted
    card = next((each for each in found if each.label.part == CARD_PART), None)
    return card.ref if card else None


class CaseButtons:
    """Handles the buttons and the modals of a card. Implements `Listener`.

    Whoever presses must be a colleague; Slack guarantees that they see the card's channel. The same
    modal sent twice is one reply.
    """

    def __init__(
        self,
        context: ChatContext,
        targets: ActionTargets,
        cards: CardActions,
        presses: PressDispatcher,
        client: SlackClient,
    ) -> None:
        self._tenant = tenant = context.tenant
        self._casework = casework = context.casework
        self._idempotent = IdempotentActs(tenant=tenant, casework=casework, notes=context.notes)
        self._targets = targets
        self._cards = cards
        self._presses = presses
        self._client = client

    def register(self, bolt: AsyncApp) -> None:
        for act, name in CARD_BUTTONS.items():
            if act == "see_more":  # SeeMoreButton's
                continue
            self._presses.on(bolt, name, partial(self._pressed, act))
        for name in CASE_MODALS:
            bolt.view(name)(self._sent)

    async def _pressed(self, act: Act, press: Press) -> None:
        case_id = interaction_named(press.value)
        actor = await self._targets.expert(press.presser)
        message, _ = await self._cards.place(case_id, press.channel)
        try:
            await self._carry_out(act, press, case_id, actor)
        except ActRefused:
            self._cards.refresh(message)
            raise

    async def _carry_out(
        self, act: Act, press: Press, case_id: InteractionId, actor: Actor
    ) -> None:
        """Act, or open the modal for the text. Raises ActRefused, also if the text would be."""
        if act not in CASE_FORMS:
            await self._casework.act(self._tenant, case_id, act, actor)
            return
        case = (await self._casework.bare(self._tenant, case_id)).case
        is_asker = actor.has(case.asker_id)
        lifecycle.after(case.status, act, actor, is_asker=is_asker, to=actor)
        await self._client.views_open(press.trigger_id, case_modal(act, case))

    async def _sent(self, ack: AsyncAck, body: dict[str, object], view: dict[str, object]) -> None:
        acting = self._act(body, view)
        await submit_modal(ack, TEXT_FIELD, acting, language=language_of(self._client.web))

    async def _act(self, body: dict[str, object], view: dict[str, object]) -> None:
        case_id = interaction_named(text_at(view, "private_metadata"))
        actor = await self._targets.expert(presser_in(id_at(object_at(body, "user"), "id"), ""))
        act = CASE_MODALS[text_at(view, "callback_id")]
        key, words = f"slack:form:{text_at(view, 'id')}", typed_value(view, TEXT_FIELD)
        detail = await self._assignee(case_id, view) if act == "assign" else NO_DETAIL
        await self._idempotent.say(key, case_id, act, actor, words, detail)

    async def _assignee(self, case_id: InteractionId, view: dict[str, object]) -> ActDetail:
        """Return the colleague chosen in a modal. Raises ActRefused if they see no card."""
        user = id_at(submitted_field(view, ASSIGNEE_FIELD), "selected_user")
        channels = await self._cards.channels_of(case_id)
        try:
            to = await self._targets.expert(presser_in(user, ""))
        except ActionRejected:
            raise ActRefused(NO_COLLEAGUE) from None
        for channel in channels:
            if await self._client.is_channel_member(channel, user):
                return ActDetail(to)
        raise ActRefused(NOT_A_MEMBER)
