"""Handle the message shortcut: submit a message as a question of the user who chose it.

The bot answers in the message's thread if it is in the channel, else in a direct message.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from weakref import WeakValueDictionary

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.chat.actions import LATER, ActionRejected
from bot.chat.adapters import ChatContext
from bot.chat.messages import as_new_question
from bot.domain.errors import BotError, DeliveryFailed
from bot.domain.markdown import split
from bot.domain.messages import Attachment, InteractionId, Message, Person, Thread
from bot.domain.texts import join_texts, tr
from bot.platforms.slack.actions.feedback import AnswerLookup
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.dispatch import ACCEPT_SECONDS
from bot.platforms.slack.payloads.actions import ASK_PERSON, ASK_SHORTCUT
from bot.platforms.slack.payloads.events import (
    BotIds,
    Event,
    attachments_in,
    id_at,
    is_own_message,
    object_at,
    shortcut_reply_to,
    text_at,
    ts_at,
)
from bot.platforms.slack.payloads.markup import escaped, from_mrkdwn, unlabelled_ids_in
from bot.platforms.slack.payloads.metadata import Place
from bot.platforms.slack.rendering import MessageForm, actions, button, section

NO_BOT_IDS = BotIds()
_QUOTED = 2_000
_DOMAIN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class ShortcutTarget:
    """The message on which a shortcut was used, and the user who used it.

    ``thread`` is the ts of its thread's first message. ``link`` is its permalink, "" where the
    workspace's domain is missing. ``author`` is "" where Slack names nobody. ``own``: the bot
    itself wrote the message.
    """

    user: str
    channel: str
    ts: str
    thread: str
    text: str
    link: str
    response_url: str
    attachments: tuple[Attachment, ...] = ()
    author: str = ""
    own: bool = False

    def question_there(self, tenant: str, *, private: bool) -> Message:
        """Return the question in the message's own thread; its id is the ts, whoever asks."""
        return self._question(self.ts, Thread("slack", tenant, self.channel, self.thread), private)

    def question_in_direct(self, tenant: str, place: str, opening: str) -> Message:
        """Return the question in a direct conversation, in the thread that ``opening`` began."""
        thread = Thread("slack", tenant, place, opening)
        return self._question(f"{opening}:pointed", thread, private=True)

    def quoted(self) -> MessageForm:
        """Return the first message of the direct conversation: the text quoted, with a link."""
        where: str = tr("a message")
        if self.link:
            where = join_texts("", (f"<{self.link}|", where, ">"))
        beginning = split(self.text, _QUOTED, lambda part: len(escaped(part)))[0]
        lines = escaped(beginning).split("\n") if beginning else ()
        quote = "\n".join(f"> {line}" for line in lines)
        asked = tr("You asked me about {message}:", message=where)
        text = join_texts("\n", (asked, quote)) if quote else asked
        return MessageForm(text, (section(text),))

    def _question(self, id_: str, thread: Thread, private: bool) -> Message:  # noqa: FBT001
        return Message(
            id=id_,
            thread=thread,
            author=Person(id=self.user),
            text=self.text,
            received_at=datetime.now(UTC),
            private=private,
            reply_to="" if private or self.author == self.user else shortcut_reply_to(),
            attachments=self.attachments,
        )


def parse_shortcut(
    body: Event, us: BotIds = NO_BOT_IDS, names: Mapping[str, str] | None = None
) -> ShortcutTarget | None:
    """Return the target of a shortcut, or None if it names no user, channel or message.

    ``names`` replace ids in its text.
    """
    message = object_at(body, "message")
    user = id_at(object_at(body, "user"), "id")
    channel = id_at(object_at(body, "channel"), "id")
    ts = ts_at(message, "ts") or ts_at(body, "message_ts")
    if not (user and channel and ts):
        return None
    thread = ts_at(message, "thread_ts") or ts
    return ShortcutTarget(
        user=user,
        channel=channel,
        ts=ts,
        thread=thread,
        text=from_mrkdwn(text_at(message, "text"), names).strip(),
        link=_message_url(text_at(object_at(body, "team"), "domain"), channel, ts, thread),
        response_url=text_at(body, "response_url"),
        attachments=tuple(attachments_in(message)),
        author=id_at(message, "user"),
        own=is_own_message(message, us),
    )


def ids_in_target(body: Event) -> frozenset[str]:
    """Return the ids that the message's text mentions without a name."""
    return unlabelled_ids_in(text_at(object_at(body, "message"), "text"))


def _message_url(domain: str, channel: str, ts: str, thread: str) -> str:
    """Build a message's permalink: Slack's API gives none where the bot is not a member."""
    if not _DOMAIN.fullmatch(domain):
        return ""
    address = f"https://{domain}.slack.com/archives/{channel}/p{ts.replace('.', '')}"
    return address if thread == ts else f"{address}?thread_ts={thread}&amp;cid={channel}"


_EMPTY = tr("There is nothing in that message that I can read.")
_OWN_ANSWER = tr("That is my own answer.")
_OWN = tr("That is my own message.")
_BELOW = tr("Got it, I'll answer in the thread of that message.")
_BELOW_ALREADY = tr(
    "I've already been asked about this; the answer is in the thread of that message."
)
_DIRECTLY = tr("Got it, I'll answer you in our direct messages.")
_DIRECTLY_ALREADY = tr("You've already asked me about this; see our direct messages.")

log = structlog.get_logger(__name__)


class MessageShortcut:
    """Handles the message shortcut. Implements `Listener`.

    In a channel with the bot, the answer goes into the message's thread, and a message is answered
    once. Elsewhere it goes into a direct message that quotes the message and links to it.
    """

    def __init__(self, channel: SlackChannel, context: ChatContext, answers: AnswerLookup) -> None:
        self._context = context
        self._identity = channel.identity
        self._mention_names = channel.mention_names
        self._answers = answers
        self._client = channel.client
        self._background = channel.background
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def register(self, bolt: AsyncApp) -> None:
        bolt.message_shortcut(ASK_SHORTCUT)(self._on_shortcut)

    async def _on_shortcut(self, ack: AsyncAck, body: dict[str, object]) -> None:
        target = parse_shortcut(body, self._identity.ids(body))
        if target is None:
            log.info("slack.shortcut_not_understood")
        else:
            response = await self._submit(target, body)
            telling = self._tell_own(target) if target.own else self._tell(target, response)
            self._background.run(telling, what="told of a shortcut")
        await ack()

    async def _tell(self, target: ShortcutTarget, text: str) -> None:
        await self._client.respond(target.response_url, (MessageForm(escaped(text)),))

    async def _tell_own(self, target: ShortcutTarget) -> None:
        """Reply that the bot wrote the message; offer a person if it answers a question."""
        about = await self._answered_interaction(target)
        if about is None:
            await self._tell(target, _OWN)
            return
        ask = actions([button(tr("Ask a person"), ASK_PERSON, about)])
        form = MessageForm(_OWN_ANSWER, (section(_OWN_ANSWER), ask))
        await self._client.respond(target.response_url, (form,))

    async def _answered_interaction(self, target: ShortcutTarget) -> InteractionId | None:
        """Return the interaction that a message of the bot answers, None for any other message."""
        known = await self._answers.known(target.channel, target.ts)
        if known is not None:
            return known.id
        try:
            return await self._answers.look_up(target.channel, target.ts)
        except DeliveryFailed as error:
            log.info("slack.part_not_looked_up", why=str(error))
            return None

    async def _submit(self, target: ShortcutTarget, body: Event) -> str:
        """Submit the question; return the text to show to the user."""
        if target.own:
            return ""
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                names = await self._mention_names.resolve(ids_in_target(body))
                return await self._ask(parse_shortcut(body, names=names) or target)
        except ActionRejected as error:
            return str(error)
        except (BotError, TimeoutError) as error:
            log.warning("slack.shortcut_not_taken", error=type(error).__name__, why=str(error))
            return LATER

    async def _ask(self, target: ShortcutTarget) -> str:
        if not target.text.strip() and not target.attachments:
            raise ActionRejected(_EMPTY)
        direct = (
            target.channel.startswith("D")
            and await self._client.conversations_open(target.user) == target.channel
        )
        if direct or (await self._client.visible_channel(target.channel)).get("is_member"):
            return await self._ask_there(target, direct=direct)
        return await self._ask_directly(target)

    async def _ask_there(self, target: ShortcutTarget, *, direct: bool) -> str:
        question = target.question_there(self._context.tenant, private=direct)
        message = await as_new_question(self._context.interactions, question)
        if await self._context.interactions.get(message.interaction_id) is not None:
            return _BELOW_ALREADY
        await self._context.inbox.accept(message)
        return _BELOW

    async def _ask_directly(self, target: ShortcutTarget) -> str:
        """Ask in a direct message; a note stores the thread, so that it is opened only once."""
        key = f"slack:pointed:{target.user}:{target.channel}:{target.ts}"
        tenant, notes = self._context.tenant, self._context.notes
        async with self._locks.setdefault(key, asyncio.Lock()):
            if await notes.get(tenant, key) is not None:
                return _DIRECTLY_ALREADY
            direct = await self._client.conversations_open(target.user)
            place = Place(direct, None, since="0")
            thread = await self._client.chat_post_message(place, (target.quoted(),))
            message = target.question_in_direct(tenant, direct, thread)
            await self._context.inbox.accept(message)
            stored = f"{direct}:{thread}"
            await notes.put(tenant, key, stored, interaction_id=message.interaction_id)
            return _DIRECTLY
