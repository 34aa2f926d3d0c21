"""The message shortcut: what somebody wrote is asked in the name of whoever chose it."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.adapters.slack.home.names import Names
from bot.adapters.slack.home.own import Own
from bot.adapters.slack.home.rooms import Rooms
from bot.adapters.slack.pressed.parts import AnswerParts
from bot.adapters.slack.pressed.pointing import Pointed, ids_pointed_at, pointed_of
from bot.adapters.slack.said.ongoing import ACCEPT_SECONDS
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.showing.blocks import actions, button, section
from bot.adapters.slack.wire.actions import ASK_PERSON, ASK_SHORTCUT
from bot.adapters.slack.wire.events import Event
from bot.adapters.slack.wire.text import escaped
from bot.chat.actions import LATER, ActionRejected
from bot.chat.adapters import ChatContext
from bot.chat.messages import as_new_question
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, DeliveryFailed
from bot.domain.types import InteractionId, PostedRef

_EMPTY = "There is nothing in that message that I can read."
_OWN_ANSWER = "That is my own answer."
_OWN = "That is my own message."
_BELOW = "I've got it; my answer goes into the thread of that message."
_BELOW_ALREADY = "I was asked about that already; the answer goes into the thread of that message."
_DIRECTLY = "I've got it; I'll answer you in our direct messages."
_DIRECTLY_ALREADY = "You asked me about that already; see our direct messages."

log = structlog.get_logger(__name__)


class Shortcuts:
    """Implements Registers.

    Where the bot is, it answers in the message's thread, and a message is answered once. Where it
    is not, it answers in a direct message that quotes the message and links to it.
    """

    def __init__(
        self,
        *,
        own: Own,
        names: Names,
        office: ChatContext,
        rooms: Rooms,
        parts: AnswerParts,
        asides: Asides,
        errands: BackgroundTasks,
    ) -> None:
        self._own = own
        self._names = names
        self._parts = parts
        self._office = office
        self._rooms = rooms
        self._asides = asides
        self._errands = errands
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def register(self, bolt: AsyncApp) -> None:
        bolt.message_shortcut(ASK_SHORTCUT)(self._take)

    async def _take(self, ack: AsyncAck, body: dict[str, object]) -> None:
        pointed = pointed_of(body, self._own.us(body))
        if pointed is None:
            log.info("slack.shortcut_not_understood")
        else:
            said = await self._taken(pointed, body)
            told = self._own_message(pointed) if pointed.own else self._tell(pointed, said)
            self._errands.run(told, what="told of a shortcut")
        await ack()

    async def _tell(self, pointed: Pointed, said: str) -> None:
        await self._asides.tell(pointed.response_url, escaped(said))

    async def _own_message(self, pointed: Pointed) -> None:
        """Say that it is the bot's own, and offer a person where it answers a question."""
        about = await self._answered(pointed)
        if about is None:
            await self._tell(pointed, _OWN)
            return
        ask = actions([button("Ask a person", ASK_PERSON, about)])
        await self._asides.tell(pointed.response_url, _OWN_ANSWER, (section(_OWN_ANSWER), ask))

    async def _answered(self, pointed: Pointed) -> InteractionId | None:
        """Return the question that a message of ours answers, None for any other message."""
        ref = PostedRef(pointed.channel, pointed.ts)
        posted = await self._office.interactions.find_posted(self._office.tenant, ref)
        if posted is not None:
            return posted.id
        try:
            return await self._parts.look_up(pointed.channel, pointed.ts)
        except DeliveryFailed as error:
            log.info("slack.part_not_looked_up", why=str(error))
            return None

    async def _taken(self, pointed: Pointed, body: Event) -> str:
        """Ask what was pointed at; return what to say to whoever pointed."""
        if pointed.own:
            return ""
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                names = await self._names.of(ids_pointed_at(body))
                return await self._asked(pointed_of(body, names=names) or pointed)
        except ActionRejected as error:
            return str(error)
        except (BotError, TimeoutError) as error:
            log.warning("slack.shortcut_not_taken", error=type(error).__name__, why=str(error))
            return LATER

    async def _asked(self, pointed: Pointed) -> str:
        if not pointed.text.strip() and not pointed.attachments:
            raise ActionRejected(_EMPTY)
        direct = await self._rooms.is_direct_with(pointed.channel, pointed.user)
        if direct or await self._rooms.is_member(pointed.channel):
            return await self._below(pointed, direct=direct)
        return await self._directly(pointed)

    async def _below(self, pointed: Pointed, *, direct: bool) -> str:
        asked = pointed.asked_there(self._office.tenant, private=direct)
        message = await as_new_question(self._office, asked)
        if await self._office.interactions.get(message.interaction_id) is not None:
            return _BELOW_ALREADY
        await self._office.inbox.accept(message)
        return _BELOW

    async def _directly(self, pointed: Pointed) -> str:
        """Ask in a direct message; how it is opened is noted, so that it is opened once."""
        key = f"slack:pointed:{pointed.user}:{pointed.channel}:{pointed.ts}"
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            return await self._once(key, pointed)

    async def _once(self, key: str, pointed: Pointed) -> str:
        tenant, notes = self._office.tenant, self._office.notes
        if await notes.get(tenant, key) is not None:
            return _DIRECTLY_ALREADY
        place = await self._rooms.direct(pointed.user)
        opening = await self._rooms.open_thread(place, pointed.quoted())
        message = pointed.asked_directly(tenant, place, opening)
        await self._office.inbox.accept(message)
        await notes.put(tenant, key, f"{place}:{opening}", interaction_id=message.interaction_id)
        return _DIRECTLY
