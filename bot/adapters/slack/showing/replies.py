"""Replies in threads: all of a reply is seen once, whatever fails and whoever dies."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from bot.adapters.slack.calling.errors import FormsRefused
from bot.adapters.slack.cases.people import People
from bot.adapters.slack.showing.blocks import context
from bot.adapters.slack.showing.buttons import buttons_of
from bot.adapters.slack.showing.lookup import Lookup
from bot.adapters.slack.showing.posting import Poster
from bot.adapters.slack.showing.render import Form, Forms, messages
from bot.adapters.slack.wire.labels import (
    CARD,
    Label,
    Parts,
    Posted,
    is_ts,
    label,
    last_of_all,
    thread_of,
)
from bot.adapters.slack.wire.reply_to import is_pointed, response_url_of
from bot.chat.response_view import render
from bot.domain.errors import DeliveryRefused
from bot.domain.handoff import as_list_only, as_thread_reply
from bot.domain.outcomes import undelivered_text
from bot.domain.types import Delivery, Message, PostedRef, Response

_REMEMBERED = 1_000
_NOT_TAKEN = "not taken"
"""The part that stands for one that Slack does not take; it makes no delivery complete."""


class Replies:
    """Posts, finds and takes back what answers a question where it was asked.

    A delivery may have several messages; the posted reference names the last, which carries the
    sources and the buttons. The card for people is posted before the first of them, so that a
    complete reply says that the card is settled as well.
    """

    def __init__(self, poster: Poster, lookup: Lookup, people: People) -> None:
        self._poster = poster
        self._lookup = lookup
        self._people = people
        self._attempted: OrderedDict[str, Parts | None] = OrderedDict()

    async def deliver(self, delivery: Delivery) -> tuple[PostedRef, bool]:
        """Post what is not there yet; what ``find`` saw is not looked up again.

        Also tell whether anything was posted. The first attempt at a delivery looks nothing up:
        whoever repeats one, in this process or another, calls ``find`` before.
        """
        there = await self._there(delivery)
        if last := last_of_all(there):
            return PostedRef(last.channel, last.ts), False
        response = delivery.outcome.response
        if CARD not in there and not await self._people.ask(delivery):
            response = as_list_only(response)
        parts = shown(delivery, response)
        place = thread_of(delivery.message)
        ts = ""
        for number, forms in enumerate(parts, start=1):
            named = label(delivery, str(number), of=len(parts))
            known = there.get(named.part)
            ts = known.ts if known else await self._post(delivery, forms, named)
        return PostedRef(place.channel, ts), True

    async def _post(self, delivery: Delivery, forms: Forms, named: Label) -> str:
        """Post a message; where Slack takes it in no form, a line says so. Raises FormsRefused."""
        place = thread_of(delivery.message)
        try:
            return await self._poster.post(place, forms, named)
        except FormsRefused:
            if not delivery.message.overheard:
                said = Form(undelivered_text(delivery.message, delivery.outcome, "Slack"))
                with suppress(DeliveryRefused):
                    await self._poster.post(place, (said,), replace(named, part=_NOT_TAKEN))
            raise

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Look the delivery up in its thread, by metadata; None unless all of it is there."""
        there = await self._look_up(delivery)
        self._remember(delivery.id, there)
        last = last_of_all(there)
        return PostedRef(last.channel, last.ts) if last else None

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Delete what is recorded, then what else the thread and the people's channel hold."""
        deleted: set[PostedRef] = set()

        async def delete(refs: Sequence[PostedRef]) -> None:
            for ref in refs:
                if ref not in deleted and is_ts(ref.id):
                    await self._poster.delete(ref.channel, ref.id)
                    deleted.add(ref)

        try:
            await delete(posted)
            # What was whispered is in no list, and there may be no thread to look at.
            if not response_url_of(message):
                place = thread_of(message)
                await delete(_refs(await self._lookup.search(place, message.interaction_id)))
        finally:
            # The card holds the question: it goes also where the reply can't be removed any more.
            await delete(_refs(await self._people.cards(message)))

    async def _there(self, delivery: Delivery) -> Parts:
        """Return what is posted of a delivery; nothing, if this is the first that is heard of it.

        From then on that is unknown again, until it is looked up.
        """
        there: Parts | None = self._attempted.get(delivery.id, {})
        self._remember(delivery.id, None)
        return await self._look_up(delivery) if there is None else there

    async def _look_up(self, delivery: Delivery) -> Parts:
        place = thread_of(delivery.message)
        replies = await self._lookup.search(place, delivery.interaction_id)
        there = _of(delivery, replies)
        if last_of_all(there) or not self._people.are_asked(delivery):
            return there
        return {**there, **_of(delivery, await self._people.cards(delivery.message))}

    def _remember(self, delivery_id: str, there: Parts | None) -> None:
        self._attempted[delivery_id] = there
        self._attempted.move_to_end(delivery_id)
        while len(self._attempted) > _REMEMBERED:
            self._attempted.popitem(last=False)


def shown(delivery: Delivery, response: Response) -> tuple[Forms, ...]:
    """Return the messages of a delivery, with its buttons below the last."""
    outcome = delivery.outcome
    said = as_thread_reply(response)
    rendered = render(said, private=delivery.message.private, remarks=outcome.remarks)
    buttons = buttons_of(outcome, delivery.interaction_id)
    first, *rest = messages(rendered, now=datetime.now(UTC), buttons=buttons)
    return (_with_asker(first, delivery.message), *rest)


def _with_asker(forms: Forms, message: Message) -> Forms:
    """Say who asked where that is not the author of the message above."""
    if not is_pointed(message):
        return forms
    said = f"Asked by <@{message.author.id}> about this message"
    return tuple(_below_line(said, form) for form in forms)


def _below_line(said: str, form: Form) -> Form:
    text = f"{said}:\n{form.text}"
    if not form.blocks:
        return Form(text)
    return Form(text, (context(said), *form.blocks), form.body and form.body + 1)


def _of(delivery: Delivery, posted: Sequence[Posted]) -> Parts:
    """Return a delivery's messages by part, the first of each."""
    return {p.label.part: p for p in reversed(posted) if p.label.delivery_id == delivery.id}


def _refs(posted: Sequence[Posted]) -> list[PostedRef]:
    return [PostedRef(each.channel, each.ts) for each in posted]
