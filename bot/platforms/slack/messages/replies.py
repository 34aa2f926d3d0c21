"""Post, find and withdraw replies: in threads, to the asker alone, and to commands.

A reply in a thread is posted exactly once, whichever call fails or process dies: its messages
are found by their metadata. Slack stores no ephemeral messages, so they may be lost. A command is
answered at its response URL, in a message that only one person sees and that Slack can't be asked
for afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import structlog

from bot.chat.response_view import render
from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.handoff import as_ephemeral, as_list_only, as_thread_reply
from bot.domain.interactions import Delivery, PostedRef, Reply, Response
from bot.domain.markdown import disarm
from bot.domain.messages import Message
from bot.domain.outcomes import undelivered_text
from bot.domain.ports import Notes
from bot.domain.texts import join_texts, tr
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import (
    FormsRefused,
    NeverPermitted,
    NotPermitted,
    ResultUnknown,
)
from bot.platforms.slack.payloads.events import came_by_shortcut, is_command
from bot.platforms.slack.payloads.markup import escaped_label
from bot.platforms.slack.payloads.metadata import (
    CARD_PART,
    MessageLabel,
    Place,
    PostedParts,
    is_ts,
    label_of,
    last_if_complete,
    parts_of,
    thread_of,
    ts_of,
)
from bot.platforms.slack.payloads.response_urls import ResponseUrls
from bot.platforms.slack.people_channel import PeopleChannel
from bot.platforms.slack.rendering import (
    MessageForm,
    MessageForms,
    buttons_of,
    context,
    private_answer_offer,
    reply_messages,
)
from rag.types import BoundedDict

_REMEMBERED = 1_000
_NOT_TAKEN = "not taken"
"""The part name of the line that reports a refused message; it makes no delivery complete."""


class Replies:
    """Posts, finds and deletes the replies to a question in its thread.

    A delivery may have several messages; the posted reference names the last, which carries the
    sources and the buttons. The escalation card is posted before the first of them, so that a
    complete reply implies that the card is settled as well.
    """

    def __init__(self, client: SlackClient, people: PeopleChannel) -> None:
        self._client = client
        self._people = people
        self._attempted = BoundedDict[str, PostedParts | None](_REMEMBERED)

    async def deliver(self, delivery: Delivery) -> tuple[PostedRef, bool]:
        """Post the missing messages; return the last one's reference, and whether any was posted.

        Messages seen by ``find`` are not looked up again. The first attempt at a delivery looks
        nothing up: whoever repeats one, in this process or another, calls ``find`` before.
        """
        posted = await self._known_parts(delivery)
        if last := last_if_complete(posted):
            return last.ref, False
        response = delivery.outcome.response
        if CARD_PART not in posted and not await self._people.ask(delivery):
            response = as_list_only(response)
        messages = delivery_messages(delivery, response)
        ts = ""
        for number, forms in enumerate(messages, start=1):
            label = label_of(delivery, str(number), total=len(messages))
            known = posted.get(label.part)
            ts = known.ts if known else await self._post(delivery, forms, label)
        return PostedRef(delivery.message.thread.channel, ts), True

    async def _post(self, delivery: Delivery, forms: MessageForms, label: MessageLabel) -> str:
        """Post a message; if Slack rejects every form, a line about it. Raises FormsRefused."""
        place = thread_of(delivery.message)
        try:
            return await self._client.chat_post_message(place, forms, label)
        except FormsRefused:
            if not delivery.message.overheard:
                line = MessageForm(undelivered_text(delivery.message, delivery.outcome, "Slack"))
                with suppress(DeliveryRefused):
                    await self._client.chat_post_message(
                        place, (line,), replace(label, part=_NOT_TAKEN)
                    )
            raise

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Find a delivery in its thread, by metadata; None unless it is complete."""
        parts = await self._look_up(delivery)
        self._attempted[delivery.id] = parts
        last = last_if_complete(parts)
        return last.ref if last else None

    async def correct(self, delivery: Delivery, posted: PostedRef) -> None:
        """Edit a posted reply; the last messages are kept, because ``posted`` is the last.

        Raises DeliveryFailed; DeliveryRefused for an ephemeral reply, and one that is not there.
        """
        if not is_ts(posted.id):
            raise DeliveryRefused("Slack edits no message that only one person saw.")
        parts = await self._look_up(delivery)
        numbers = sorted(int(part) for part in parts if part.isdecimal())
        there = [parts[str(number)].ref for number in numbers]
        messages = delivery_messages(delivery, delivery.outcome.response)
        if len(there) < len(messages):
            raise DeliveryRefused(f"Of {len(messages)} messages {len(there)} are in the thread.")
        removed, kept = there[: -len(messages)], there[-len(messages) :]
        for ref, forms in zip(kept, messages, strict=True):
            await self._client.chat_update(ref, forms, kind="reply")
        for ref in removed:
            await self._client.chat_delete(ref.channel, ref.id)

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete the recorded messages, then any others in the thread and escalation channel."""
        deleted: set[PostedRef] = set()

        async def delete(refs: Iterable[PostedRef]) -> None:
            for ref in refs:
                if ref not in deleted and is_ts(ref.id):
                    await self._client.chat_delete(ref.channel, ref.id)
                    deleted.add(ref)

        try:
            await delete(posted)
            # Slack lists no ephemeral reply to a command, and there may be no thread.
            if not is_command(message):
                place = thread_of(message)
                found = await self._client.find_messages(place, message.interaction_id)
                await delete(each.ref for each in found)
        finally:
            # The card quotes the question: delete it even if the reply can't be deleted any more.
            await delete(each.ref for each in await self._people.cards(message))

    async def _known_parts(self, delivery: Delivery) -> PostedParts:
        """Return the posted parts of a delivery; {} if this is its first attempt.

        Then mark them as unknown, until they are looked up again.
        """
        parts: PostedParts | None = self._attempted.get(delivery.id, {})
        self._attempted[delivery.id] = None
        return await self._look_up(delivery) if parts is None else parts

    async def _look_up(self, delivery: Delivery) -> PostedParts:
        place = thread_of(delivery.message)
        replies = await self._client.find_messages(place, delivery.interaction_id)
        parts = parts_of(delivery.id, replies)
        if last_if_complete(parts) or not self._people.are_asked(delivery):
            return parts
        return {**parts, **parts_of(delivery.id, await self._people.cards(delivery.message))}


def delivery_messages(delivery: Delivery, response: Response) -> tuple[MessageForms, ...]:
    """Return the messages of a delivery, with its buttons below the last."""
    outcome = delivery.outcome
    reply = as_thread_reply(response)
    rendered = render(reply, private=delivery.message.private, remarks=outcome.remarks)
    buttons = buttons_of(outcome, delivery.interaction_id)
    first, *rest = reply_messages(rendered, now=datetime.now(UTC), buttons=buttons)
    return (_with_asker(first, delivery.message), *rest)


def _with_asker(forms: MessageForms, message: Message) -> MessageForms:
    """Add a line that names the asker, if they are not the author of the message above."""
    if not came_by_shortcut(message):
        return forms
    line = tr("Asked by {who} about this message", who=f"<@{message.author.id}>")
    return tuple(_below_line(line, form) for form in forms)


def _below_line(line: str, form: MessageForm) -> MessageForm:
    text = join_texts(":\n", (line, form.text))
    if not form.blocks:
        return MessageForm(text)
    return MessageForm(text, (context(line), *form.blocks), form.body and form.body + 1)


log = structlog.get_logger(__name__)


class PrivateReplies:
    """Posts ephemeral messages. Slack stores none of them, and may not show them at all."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client

    async def offer(self, delivery: Delivery) -> None:
        """Offer the asker the private answer, if any; a failure is logged only."""
        message = delivery.message
        if delivery.outcome.private is None or message.private:
            return
        forms = private_answer_offer(delivery.interaction_id)
        try:
            await self._client.chat_post_ephemeral(
                thread_of(message), message.author.id, forms, kind="private reply"
            )
        except DeliveryFailed as error:
            log.warning("slack.offer_failed", error=str(error))

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post a response to its asker alone; return a reference. Raises DeliveryFailed.

        Slack can't be asked for it afterwards, and it may be lost: better once than twice.
        """
        message = delivery.message
        rendered = render(delivery.outcome.response, private=message.private)
        place = _ephemeral_place(message)
        for forms in reply_messages(rendered, now=datetime.now(UTC)):
            try:
                await self._client.chat_post_ephemeral(
                    place, message.author.id, forms, kind="private reply"
                )
            except (ResultUnknown, NotPermitted, NeverPermitted) as error:
                log.info("slack.notice_not_shown", error=str(error))
        return PostedRef(place.channel, delivery.id)

    async def note(self, message: Message, text: str) -> None:
        """Send the asker a line of plain text, as a direct message. Raises DeliveryFailed."""
        place = thread_of(message)
        if not message.private:
            direct = await self._client.conversations_open(message.author.id)
            place = Place(direct, None, since=place.since)
        await self._client.chat_post_message(
            place, (MessageForm(escaped_label(disarm(text))),), kind="private reply"
        )

    async def whisper(self, message: Message, reply: Reply) -> None:
        """Show a reply with its sources to the asker alone. Raises DeliveryFailed."""
        # No footer: it is read in a channel, where the bot does not receive a plain reply.
        rendered = replace(render(reply, private=False), footer="")
        for forms in reply_messages(rendered, now=datetime.now(UTC)):
            await self._client.chat_post_ephemeral(
                thread_of(message), message.author.id, forms, kind="private reply"
            )


def _ephemeral_place(message: Message) -> Place:
    """Return the place for an ephemeral message: Slack shows none in a thread without replies."""
    place = thread_of(message)
    return replace(place, thread=None) if place.thread == ts_of(message) else place


_URL_LIFETIME = timedelta(minutes=29)
"""Slack accepts a response URL for half an hour; this leaves time for the request."""

_CARD_NUMBER = 0
"""The number of the part before the first: the escalation card."""


class CommandReplies:
    """Delivers ephemeral replies to commands, which can't be looked up afterwards.

    So each part is recorded before it is sent, and sent again only if it surely failed: better once
    than twice. When the response URL is used up, a direct message is sent instead.
    """

    def __init__(
        self, client: SlackClient, notes: Notes, people: PeopleChannel, urls: ResponseUrls
    ) -> None:
        self._client = client
        self._notes = notes
        self._people = people
        self._urls = urls
        self._begun = BoundedDict[str, int | None](_REMEMBERED)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Send the parts not sent yet. Raises DeliveryFailed; the other parts are then still due.

        Raises also StoreUnavailable, before anything is sent.
        """
        begun = await self._begun_of(delivery)
        response = await self._response(delivery, begun)
        ref = _ephemeral_ref(delivery)
        parts = delivery_messages(delivery, response)
        for number, forms in enumerate(parts, start=1):
            if begun is not None and number <= begun:
                continue
            await self._note(delivery, number)
            ref = await self._once(delivery, number, forms, total=len(parts))
        return ref

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Return a reply's reference if all its parts may have been sent, None if some were not.

        Raises StoreUnavailable.
        """
        begun = await self._begun_of(delivery)
        total = len(delivery_messages(delivery, delivery.outcome.response))
        return _ephemeral_ref(delivery) if begun is not None and begun >= total else None

    async def _once(
        self, delivery: Delivery, number: int, forms: MessageForms, *, total: int
    ) -> PostedRef:
        """Send a part; one with an unknown result counts as sent."""
        try:
            return await self._send(delivery, number, forms, total=total)
        except ResultUnknown as error:
            log.warning("slack.response_unknown", error=str(error))
            return _ephemeral_ref(delivery)
        except DeliveryFailed:
            await self._note(delivery, number - 1)
            raise

    async def _send(
        self, delivery: Delivery, number: int, forms: MessageForms, *, total: int
    ) -> PostedRef:
        message = delivery.message
        url = self._urls.of(message)
        if url and datetime.now(UTC) - message.received_at < _URL_LIFETIME:
            try:
                await self._client.respond(url, forms, command_reply=True)
            except (NotPermitted, NeverPermitted) as error:
                log.info("slack.response_url_closed", error=str(error))
            except FormsRefused:
                line = MessageForm(undelivered_text(message, delivery.outcome, "Slack"))
                with suppress(DeliveryFailed):
                    await self._client.respond(url, (line,), command_reply=True)
                raise
            else:
                return _ephemeral_ref(delivery)
        try:
            direct = await self._client.conversations_open(message.author.id)
        except ResultUnknown as error:
            # Opening it twice does no harm.
            raise DeliveryFailed(str(error)) from error
        place = Place(direct, None, since=ts_of(message))
        ts = await self._client.chat_post_message(
            place, forms, label_of(delivery, str(number), total=total), kind="private reply"
        )
        return PostedRef(place.channel, ts)

    async def _response(self, delivery: Delivery, begun: int | None) -> Response:
        """Post the escalation card first, if one is due and not posted; return the response."""
        response = as_ephemeral(delivery.outcome.response)
        has_card = self._people.are_asked(delivery)
        if has_card and begun is not None and await self._people.cards(delivery.message):
            return response
        if begun is None:
            await self._note(delivery, _CARD_NUMBER)
        return response if await self._people.ask(delivery) else as_list_only(response)

    async def _begun_of(self, delivery: Delivery) -> int | None:
        """Return the number of the last part that may have been sent, None before the first try."""
        if delivery.id not in self._begun:
            noted = await self._notes.get(_tenant(delivery), _key(delivery))
            self._begun[delivery.id] = int(noted) if noted and noted.isdecimal() else None
        return self._begun[delivery.id]

    async def _note(self, delivery: Delivery, number: int) -> None:
        await self._notes.put(
            _tenant(delivery),
            _key(delivery),
            str(number),
            interaction_id=delivery.interaction_id,
        )
        self._begun[delivery.id] = number


def _ephemeral_ref(delivery: Delivery) -> PostedRef:
    """Return a reference for an ephemeral message, which has no ts: the delivery's id."""
    return PostedRef(delivery.message.thread.channel, delivery.id)


def _tenant(delivery: Delivery) -> str:
    return delivery.message.thread.tenant


def _key(delivery: Delivery) -> str:
    return f"slack:response:{delivery.id}"
