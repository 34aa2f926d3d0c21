"""Receive people's messages: store them in the inbox, apply edits and deletions, read files.

A question whose deletion is undone is asked again under another id. Files, which only personal
chats have, are downloaded from Microsoft's hosts alone, up to a size limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import unquote_to_bytes

import aiohttp
from yarl import URL

from bot.answering.attachments import download_errors, downloaded_bytes
from bot.chat.adapters import ChatContext
from bot.chat.commands.parsing import parse_message_text
from bot.chat.commands.types import AskRequest
from bot.chat.messages import (
    MessageEdits,
    MessageWithdrawals,
    ReceivedMessage,
    as_new_question,
    is_said_in_thread,
    is_told_of_practice,
    practice_notice,
    should_take,
)
from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Delivery
from bot.domain.messages import Attachment, Message
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.members import COMMAND_SPELLING
from bot.platforms.teams.payloads.activity import (
    Body,
    conversation_of,
    is_private,
    person_of,
    reference_of,
    sent_at,
    text_at,
)
from bot.platforms.teams.payloads.messages import INLINE_PREFIX, parse_message, thread_of
from bot.platforms.teams.thread_replies import TeamsThreadReplies

_MOST_DELETED = 50
"""Per conversation; a message that arrives after its deletion arrives soon."""


class DeletedMessages:
    """Stores deletions of unknown messages, shared by all processes.

    Outside personal chats most of these messages were never meant for the bot, so they are not
    recorded as questions; in a personal chat every message is a question. Each deletion has its own
    note, as concurrent ones must not overwrite each other. Raises StoreUnavailable.
    """

    def __init__(self, context: ChatContext, *, clock: Callable[[], float] = time.time) -> None:
        self._notes = context.notes
        self._tenant = context.tenant
        self._clock = clock

    async def note(self, message: Message) -> None:
        """Store that a message was deleted; remove the oldest notes of the conversation."""
        await self._notes.put(self._tenant, _deleted_key(message), f"{self._clock():020.6f}")
        noted = await self._notes.beginning(self._tenant, _deleted_prefix(message))
        newest_first = sorted(noted, key=lambda key: noted[key], reverse=True)
        for key in newest_first[_MOST_DELETED:]:
            await self._notes.remove(self._tenant, key)

    async def forget(self, message: Message) -> None:
        """Remove the note that a message was deleted."""
        await self._notes.remove(self._tenant, _deleted_key(message))

    async def has(self, message: Message) -> bool:
        """Return whether a message was deleted."""
        if message.private:
            return False
        return await self._notes.get(self._tenant, _deleted_key(message)) is not None


def _deleted_key(message: Message) -> str:
    return f"{_deleted_prefix(message)}{message.id}"


def _deleted_prefix(message: Message) -> str:
    return f"teams:deleted:{message.thread.channel}:"


@dataclass(frozen=True, slots=True)
class Restoration:
    """The time of a message's last restoration in seconds, and the id it was then asked under."""

    at: str
    id: str


class Restorations:
    """Stores the id under which a restored message is asked.

    A withdrawn question's text is erased and its id is never answered again, so a restored message
    gets a new id. The new id starts with the first one, and is deleted with it. Raises
    StoreUnavailable.
    """

    def __init__(self, context: ChatContext) -> None:
        self._notes = context.notes
        self._interactions = context.interactions
        self._tenant = context.tenant

    async def last(self, message: Message) -> Restoration | None:
        """Return the last restoration of a message, or None."""
        noted = await self._notes.get(self._tenant, _restoration_key(message))
        at, _, name = (noted or "").partition(" ")
        return Restoration(at, name) if noted else None

    async def newest(self, message: Message) -> Message:
        """Return a message with the id under which it is asked now."""
        last = await self.last(message)
        return replace(message, id=last.id) if last else message

    async def restore(self, message: Message, at: str) -> Message:
        """Store that a deletion was undone at a time; return the message with its new id.

        Idempotent; an earlier time changes nothing.
        """
        last = await self.last(message)
        if last and not is_later(at, last.at):
            return replace(message, id=last.id)
        now = replace(message, id=last.id) if last else message
        kept = await self._interactions.get(now.interaction_id)
        if kept is not None and kept.withdrawn:
            now = replace(message, id=f"{message.id}:restored:{at}")
        await self._notes.put(self._tenant, _restoration_key(message), f"{at} {now.id}")
        return now


def is_later(at: str, than: str) -> bool:
    """Return whether a time is later than another; an unknown time counts as the latest."""
    return not at or not than or Decimal(at) > Decimal(than)


def _restoration_key(message: Message) -> str:
    return f"teams:restored:{message.interaction_id}"


_RESTORE_EVENT = "undeleteMessage"


class MessageListener:
    """Receives personal messages, mentions and, where allowed, others. Implements `Listener`.

    Messages that do not mention the bot arrive only where the app has the permission.

    Teams sends a message, its edits (messageUpdate) and its deletion (messageDelete) in any order.
    So an edited question is first accepted in its new form, which does nothing if it is stored
    already, and then amended; a message that is deleted before it arrives is not answered later. A
    deletion older than the message's last restoration is ignored.
    """

    def __init__(
        self,
        context: ChatContext,
        replies: TeamsThreadReplies,
        tell_alone: Callable[[Delivery], None],
    ) -> None:
        self._replies = replies
        self._context = context
        self._tell_alone = tell_alone
        self._deleted = DeletedMessages(context)
        self._edits = MessageEdits(context.inbox, context.interactions, context.notes)
        self._withdrawals = MessageWithdrawals(context.inbox, context.interactions)
        self._restorations = Restorations(context)

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("message", self._take)
        dispatch.on_activity("messageUpdate", self._take_edit)
        dispatch.on_activity("messageDelete", self._take_deletion)

    async def _take(self, body: Body) -> bool:
        received = self._parse(body)
        if received is None:
            return False
        if is_said_in_thread(received) and await self._replies.take(received.message):
            return True
        if not await should_take(self._context.listening, received):
            return False
        await self._accept(received.message)
        return True

    def _parse(self, body: Body) -> ReceivedMessage | None:
        return parse_message(body, tenant=self._context.tenant, received_at=datetime.now(UTC))

    async def _accept(self, message: Message) -> None:
        """Store a message to be answered, unless it was deleted before it arrived."""
        message = await self._context.listening.marked(message)
        await self._context.inbox.accept(message)
        if await self._deleted.has(message):
            await self._withdrawals.withdraw(message)
        elif await is_told_of_practice(self._context.notes, message):
            self._tell_alone(practice_notice(message))

    async def _take_edit(self, body: Body) -> bool:
        received = self._parse(body)
        if received is None or received.by_bot:
            return False
        edited = received.message
        if is_said_in_thread(received) and await self._replies.edit(edited, sent_at(body)):
            return True
        now = await self._as_asked(body, received.message)
        if not now.overheard:
            if await self._became_command(now):
                return True
            await self._accept(now)
        await self._edits.amend(now, sent_at(body))
        return True

    async def _as_asked(self, body: Body, message: Message) -> Message:
        """Return a message with the id under which it is answered."""
        if text_at(body, "channelData", "eventType") == _RESTORE_EVENT:
            await self._deleted.forget(message)
            if not message.overheard:
                return await self._restorations.restore(message, sent_at(body))
        return await as_new_question(
            self._context.interactions, await self._restorations.newest(message)
        )

    async def _became_command(self, message: Message) -> bool:
        """Return whether an edit turned a message that was no question into a command.

        Such a command is not run.
        """
        command = parse_message_text(message.text, COMMAND_SPELLING)
        if command is None or isinstance(command, AskRequest):
            return False
        return await self._context.interactions.get(message.interaction_id) is None

    async def _take_deletion(self, body: Body) -> bool:
        message = _message_at(body, self._context.tenant)
        if not (message.id and conversation_of(body)):
            return False
        if await self._replies.delete(message.thread, message.id):
            return True
        last = await self._restorations.last(message)
        if last and not is_later(sent_at(body), last.at):
            return True
        asked = replace(message, id=last.id) if last else message
        if not await self._withdrawals.withdraw(asked):
            await self._never_answer(message)
        return True

    async def _never_answer(self, message: Message) -> None:
        if message.private:
            await self._withdrawals.never_answer(message)
            return
        await self._deleted.note(message)
        # The message may have arrived meanwhile, and have been checked before the note existed.
        await self._withdrawals.withdraw(message)


def _message_at(body: Body, tenant: str) -> Message:
    """Return a message without text, which only identifies the deleted one."""
    return Message(
        id=text_at(body, "id"),
        thread=thread_of(body, tenant),
        author=person_of(body),
        text="",
        received_at=datetime.now(UTC),
        private=is_private(body),
        reply_to=reference_of(body),
    )


_HOSTS = (".sharepoint.com", ".sharepoint.us", ".sharepoint-mil.us", ".sharepoint.cn")
"""OneDrive for Business, where Teams stores files of chats: worldwide and national clouds."""

_HTTPS = 443
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_ADDRESSES = 4
_TIMEOUT = aiohttp.ClientTimeout(total=20.0, connect=5.0)
_UNCOMPRESSED = {"Accept-Encoding": "identity"}
_CURE = "The address of a file holds for some minutes; let the asker send it again."


class Files:
    """Downloads attachments. Implements bot.domain.ports.Fetches.

    A download URL of Teams needs no token, so it is itself a secret. Redirects are followed only
    among Microsoft's file hosts.
    """

    def __init__(
        self, connector: Callable[[], aiohttp.BaseConnector] = aiohttp.TCPConnector
    ) -> None:
        self._connector = connector

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file, or the text of a quote.

        Raises DeliveryFailed, also for one above ``most`` bytes.
        """
        if attachment.place.startswith(INLINE_PREFIX):
            return _inline_content(attachment, most)
        with download_errors(attachment):
            async with aiohttp.ClientSession(
                connector=self._connector(), cookie_jar=aiohttp.DummyCookieJar(), timeout=_TIMEOUT
            ) as session:
                return await _fetch_file(session, attachment, most)


async def _fetch_file(session: aiohttp.ClientSession, attachment: Attachment, most: int) -> bytes:
    url = _checked_address(attachment, attachment.place)
    for _ in range(_MOST_ADDRESSES):
        async with session.get(url, headers=_UNCOMPRESSED, allow_redirects=False) as response:
            if response.status not in _REDIRECTS:
                return await downloaded_bytes(
                    attachment, response, most=most, host="SharePoint", cure=_CURE
                )
            url = _checked_address(attachment, response.headers.get("Location", ""), url)
    raise DeliveryFailed(f"File {attachment.name!r}: SharePoint leads from place to place.")


def _checked_address(attachment: Attachment, place: str, seen_from: URL | None = None) -> URL:
    """Return the URL in the form in which it will be requested, if its host is allowed.

    The check applies to the parsed form, as another parser may read the original differently.
    """
    if not place:
        raise DeliveryFailed(f"File {attachment.name!r}: Teams does not hand it out.")
    try:
        told = URL(place, encoded=True)
        url = seen_from.join(told) if seen_from else told
        origin = url.scheme, url.port, url.raw_host or ""
    except ValueError as error:
        raise DeliveryFailed(f"File {attachment.name!r} has no address.") from error
    scheme, port, host = origin
    ours = scheme == "https" and port == _HTTPS and host.lower().endswith(_HOSTS)
    if not ours or url.raw_user is not None or url.raw_password is not None:
        raise DeliveryFailed(
            f"File {attachment.name!r} is not where Microsoft keeps files; it is not fetched."
        )
    return url


def _inline_content(attachment: Attachment, most: int) -> bytes:
    content = unquote_to_bytes(attachment.place.removeprefix(INLINE_PREFIX))
    if len(content) > most:
        raise DeliveryFailed(f"File {attachment.name!r} is larger than {most} bytes.")
    return content
