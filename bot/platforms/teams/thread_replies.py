"""Ask experts in their personal chat whether to send what they wrote in a case's thread.

Messages that don't mention the bot reach it only with the permission that
``teams-package --follow-ups`` asks for. Where an expert has no chat with the bot, the offer is a
reply below the card; its author alone can accept it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import structlog

from bot.chat.actions import ActingUser
from bot.chat.thread_replies import ThreadOffer, ThreadReplies
from bot.domain.cases import case_of_card_thread
from bot.domain.errors import DeliveryRefused
from bot.domain.interactions import PostedRef
from bot.domain.markdown import clip
from bot.domain.messages import InteractionId, Message, Thread
from bot.domain.ports import Notes
from bot.domain.texts import join_texts, tr
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.errors import NotPermitted
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.payloads.actions import (
    CHANNEL_KEY,
    KEEP_WRITTEN,
    ROOT_KEY,
    SEND_WRITTEN,
    WRITTEN_KEY,
    Press,
)
from bot.platforms.teams.payloads.activity import Json, text_at, thread_conversation
from bot.platforms.teams.people_channel import PeopleChannel
from bot.platforms.teams.rendering.cards import (
    card,
    card_answer,
    execute_button,
    text_block,
    text_run,
    text_run_paragraphs,
    with_card,
)

_KEEP_LABEL = tr("No, leave it there")
_WORDS_LENGTH = 1_000
_MOST_LINES = 10
_NAME_LENGTH = 80

log = structlog.get_logger(__name__)

ThreadAct = Callable[[Thread, str, ActingUser], Awaitable[str]]


def offer_message(offer: ThreadOffer, *, named: bool) -> Json:
    """Return an offer as a message; ``named``: others see it, so it says whom it asks."""
    data: dict[str, Any] = {
        WRITTEN_KEY: offer.message_id,
        CHANNEL_KEY: offer.thread.channel,
        ROOT_KEY: offer.thread.id,
    }
    name = clip(offer.author.person.name, _NAME_LENGTH)
    question = join_texts(": ", (name, offer.question)) if named and name else offer.question
    body = [
        text_run(question, weight="Bolder"),
        *text_run_paragraphs(clip(offer.words, _WORDS_LENGTH), most=_MOST_LINES),
    ]
    buttons = [
        execute_button(offer.accept, SEND_WRITTEN, offer.case_id, first=True, **data),
        execute_button(_KEEP_LABEL, KEEP_WRITTEN, offer.case_id, **data),
    ]
    return with_card({"type": "message", "summary": question}, card(body, buttons))


class TeamsThreadReplies:
    """Makes the offers about what is written in cases' threads. Implements `Listener`.

    Teams sends a message again that was not acknowledged, so it may be offered twice; it is sent
    once.
    """

    def __init__(
        self,
        replies: ThreadReplies,
        client: TeamsClient,
        people: PeopleChannel,
        notes: Notes,
        tenant: str,
    ) -> None:
        self._replies = replies
        self._client = client
        self._people = people
        self._notes = notes
        self._tenant = tenant

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_press(SEND_WRITTEN, partial(self._pressed, self._replies.accept))
        dispatch.on_press(KEEP_WRITTEN, partial(self._pressed, self._replies.decline))

    async def take(self, message: Message, at: str = "") -> bool:
        """Offer to send a message of a case's thread; False if it is to be handled as any other.

        It is, too, where Teams permits no offer. ``at`` is the time of its edit, "" for none.
        Raises StoreUnavailable, DeliveryFailed.
        """
        if message.overheard and await case_of_card_thread(self._notes, message.thread):
            await self._people.note_read(self._tenant, message.thread.channel)
        async with self._replies.turn(message.thread, message.id):
            if await self._replies.knows(message.thread, message.id):
                return True
            try:
                return await self._offered(message, at)
            except (DeliveryRefused, NotPermitted) as error:
                log.warning("teams.no_offer_permitted", why=str(error))
                return False

    async def _offered(self, message: Message, at: str) -> bool:
        offer = await self._replies.offer(message, _author_of(message), at)
        if offer is None:
            return False
        await self._make(offer)
        await self._replies.offered(offer)
        return True

    async def edit(self, message: Message, at: str) -> bool:
        """Apply an edit to an offered message, or offer it as it reads now; False for any other."""
        return await self._replies.edit(message, _author_of(message), at) or await self.take(
            message, at
        )

    async def delete(self, thread: Thread, message_id: str) -> bool:
        """Take back an offered message that was deleted; False for any other."""
        return await self._replies.delete(thread, message_id)

    async def _make(self, offer: ThreadOffer) -> None:
        chat = await self._client.conversations.chat_with(offer.author.person.id)
        if chat is not None:
            try:
                await self._client.send(chat, offer_message(offer, named=False))
            except DeliveryRefused:
                await self._client.conversations.forget_chat(offer.author.person.id)
            else:
                return
        at = await self._card_of(offer.case_id)
        if at is not None:
            below = await self._client.conversations.channel(thread_conversation(at))
            await self._client.send(below, offer_message(offer, named=True))

    async def _card_of(self, case_id: InteractionId) -> PostedRef | None:
        card_at = await self._people.updates.place_of(self._tenant, case_id)
        return card_at if card_at and card_at.id else None

    async def _pressed(self, act: ThreadAct, press: Press) -> Json:
        channel, root = text_at(press.data, CHANNEL_KEY), text_at(press.data, ROOT_KEY)
        thread = Thread("teams", self._tenant, channel, root)
        done = await act(thread, text_at(press.data, WRITTEN_KEY), press.presser)
        return card_answer(card([text_block(done)]))


def _author_of(message: Message) -> ActingUser:
    return ActingUser(message.author, message.thread.channel, message.reply_to)
