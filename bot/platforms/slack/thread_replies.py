"""Ask experts, for their eyes alone, whether to send what they wrote in a case's thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.chat.actions import UNKNOWN, ActingUser, ActionRejected
from bot.chat.thread_replies import ThreadOffer, ThreadReplies
from bot.domain.errors import DeliveryRefused
from bot.domain.messages import Message, Thread
from bot.domain.texts import tr
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher, presser_in
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import NotPermitted
from bot.platforms.slack.payloads.actions import THREAD_KEEP, THREAD_SEND
from bot.platforms.slack.payloads.events import is_ts
from bot.platforms.slack.payloads.markup import escaped
from bot.platforms.slack.payloads.metadata import Place
from bot.platforms.slack.rendering import MessageForm, MessageForms, actions, button, section

_KEEP_LABEL = tr("No, keep it here")

log = structlog.get_logger(__name__)


def offer_message(offer: ThreadOffer) -> MessageForms:
    """Return the message of an offer; without buttons it would ask for nothing."""
    question = escaped(offer.question)
    row = actions(
        [
            button(offer.accept, THREAD_SEND, offer.message_id, primary=True),
            button(_KEEP_LABEL, THREAD_KEEP, offer.message_id),
        ]
    )
    return (MessageForm(question, (section(question), row)),)


class SlackThreadReplies:
    """Makes the offers about what is written in cases' threads. Implements `Listener`.

    An offer is ephemeral, so it can't be looked up: a message that Slack sends again because it was
    not acknowledged may be offered twice, and is sent once.
    """

    def __init__(
        self, replies: ThreadReplies, client: SlackClient, presses: PressDispatcher, tenant: str
    ) -> None:
        self._replies = replies
        self._client = client
        self._presses = presses
        self._tenant = tenant

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, THREAD_SEND, partial(self._pressed, self._replies.accept))
        self._presses.on(bolt, THREAD_KEEP, partial(self._pressed, self._replies.decline))

    async def take(self, message: Message, at: str = "") -> bool:
        """Offer to send a message of a case's thread; False if it is to be handled as any other.

        It is, too, where Slack permits no offer, such as without a scope. ``at`` is the time of its
        edit, "" for none. Raises StoreUnavailable, DeliveryFailed.
        """
        async with self._replies.turn(message.thread, message.id):
            if await self._replies.knows(message.thread, message.id):
                return True
            try:
                return await self._offered(message, at)
            except (DeliveryRefused, NotPermitted) as error:
                log.warning("slack.no_offer_permitted", why=str(error))
                return False

    async def _offered(self, message: Message, at: str) -> bool:
        author, thread = _author_of(message), message.thread
        offer = await self._replies.offer(message, author, at)
        if offer is None:
            return False
        place = Place(thread.channel, thread.id, since=message.id)
        await self._client.chat_post_ephemeral(
            place, author.person.id, offer_message(offer), kind="private reply"
        )
        await self._replies.offered(offer)
        return True

    async def edit(self, message: Message, at: str) -> bool:
        """Apply an edit to an offered message, or offer it as it reads now; False for any other."""
        return await self._replies.edit(message, _author_of(message), at) or await self.take(
            message, at
        )

    async def delete(self, thread: Thread, ts: str) -> bool:
        """Take back an offered message that was deleted; False for any other."""
        return await self._replies.delete(thread, ts)

    async def _pressed(
        self, act: Callable[[Thread, str, ActingUser], Awaitable[str]], press: Press
    ) -> None:
        if not is_ts(press.value):
            raise ActionRejected(UNKNOWN)
        thread = Thread("slack", self._tenant, press.channel, press.thread or press.value)
        done = await act(thread, press.value, press.presser)
        self._presses.replace(press, escaped(done))


def _author_of(message: Message) -> ActingUser:
    return presser_in(message.author.id, message.thread.channel)


async def sees_channel(client: SlackClient, author: ActingUser, channel: str) -> bool:
    """Return whether a person is a member of a channel. Raises DeliveryFailed."""
    return await client.is_channel_member(channel, author.person.id)
