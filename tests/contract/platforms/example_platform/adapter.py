"""Pigeon's adapter: its events go to the inbox, outcomes are posted as notes in a room."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import aiohttp
from aiohttp import web
from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.chat.adapters import ChatContext
from bot.chat.response_view import HandOver, ResponseView, SourceLine, hand_over, render
from bot.domain.cases import Case, Notice
from bot.domain.errors import (
    BotError,
    DeliveryFailed,
    DeliveryRefused,
    InteractionUnknown,
    SettingInvalid,
)
from bot.domain.formatting import freshness
from bot.domain.interactions import Delivery, PostedRef, Reply, new_feedback
from bot.domain.markdown import split
from bot.domain.messages import Activity, InteractionId, Message, Person, Thread
from bot.domain.ports import Inbox, Interactions, Notes
from bot.domain.settings import Settings
from bot.escalations.asker_notices import as_plain, notice_text

LONGEST_NOTE = 4_000
"""Characters."""

_TIMEOUT = aiohttp.ClientTimeout(total=15)

Note = Mapping[str, object]


class PigeonSettings(BaseSettings):
    """Where Pigeon is, and the secret that both sides know: PIGEON_URL and so on."""

    model_config = SettingsConfigDict(env_prefix="PIGEON_", frozen=True)

    url: str
    secret: str
    people: str
    tenant: str = "default"


def connect(settings: Settings, notes: Notes | None = None) -> PigeonChannel:
    """Return the channel; nothing is called yet. Raises SettingInvalid."""
    try:
        return PigeonChannel(PigeonSettings(tenant=settings.tenant))
    except ValidationError as error:
        missing = ", ".join(f"PIGEON_{str(each['loc'][0]).upper()}" for each in error.errors())
        raise SettingInvalid(f"Pigeon needs {missing}; add them to .env.") from error


class PigeonChannel:
    """Implements Channel and Withdraws, Tells and AsksPeople."""

    platform = "pigeon"

    def __init__(self, settings: PigeonSettings) -> None:
        self.settings = settings

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Pigeon has nothing to show it with."""

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post what is not there yet, each part under a name of its own; the last is the reply."""
        message, outcome = delivery.message, delivery.outcome
        asked = hand_over(delivery)
        if asked is not None:
            await self._post(
                self.settings.people, _card(asked, message), delivery.interaction_id, "card"
            )
        rated = isinstance(outcome.response, Reply) and bool(outcome.response.sources)
        parts = _shown(delivery)
        note = ""
        for number, text in enumerate(parts, start=1):
            last = number == len(parts)
            shown = {"thread": message.thread.id, "text": text, "thumbs": rated and last}
            note = await self._post(
                message.thread.channel, shown, delivery.interaction_id, str(number)
            )
        if outcome.private is not None and not message.private:
            await self._whisper(delivery, outcome.private)
        return PostedRef(message.thread.channel, note)

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Ask Pigeon for the last part of a reply, whoever posted it."""
        last = str(len(_shown(delivery)))
        room = delivery.message.thread.channel
        note = await self._find(room, _mark(delivery.interaction_id, last))
        return None if note is None else PostedRef(room, note)

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post what a person did; what is there already is not posted again."""
        note = ""
        for number, text in enumerate(_told(notice), start=1):
            shown = {"thread": message.thread.id, "text": text}
            part = _part(notice, number)
            note = await self._post(message.thread.channel, shown, notice.interaction_id, part)
        return PostedRef(message.thread.channel, note)

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        """Ask Pigeon for the last part of a notice, whoever posted it."""
        mark = _mark(notice.interaction_id, _part(notice, len(_told(notice))))
        note = await self._find(message.thread.channel, mark)
        return None if note is None else PostedRef(message.thread.channel, note)

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Say where people are asked that a question waits."""
        text = f"Nobody has it yet, since {case.opened_at:%H:%M} (UTC): {plain(case.question)}"
        shown = {"thread": f"reminder {notice.id}", "text": text[:LONGEST_NOTE]}
        room = self.settings.people
        note = await self._post(room, shown, notice.interaction_id, _part(notice, 1))
        return PostedRef(room, note)

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Remove all that carries the mark of a message; ``posted`` names only the last."""
        mark = _mark(message.interaction_id, "")
        for room in (message.thread.channel, self.settings.people):
            await self._call("DELETE", f"/rooms/{room}/notes", params={"marked": mark})

    async def _whisper(self, delivery: Delivery, private: Reply) -> None:
        message = delivery.message
        for number, text in enumerate(_parts(render(private, private=True)), start=1):
            shown = {"thread": message.thread.id, "text": text, "for": message.author.id}
            await self._post(
                message.thread.channel, shown, delivery.interaction_id, f"private {number}"
            )

    async def _post(self, room: str, note: Note, about: InteractionId, part: str) -> str:
        mark = _mark(about, part)
        known = await self._find(room, mark)
        if known is not None:
            return known
        posted = await self._call("POST", f"/rooms/{room}/notes", json={**note, "mark": mark})
        return str(posted["id"])

    async def _find(self, room: str, mark: str) -> str | None:
        found = await self._call("GET", f"/rooms/{room}/notes", params={"mark": mark})
        return str(found["ids"][0]) if found["ids"] else None

    async def _call(self, method: str, path: str, **options: Any) -> Mapping[str, Any]:  # noqa: ANN401 - aiohttp's
        """Call Pigeon. Raises DeliveryFailed, and DeliveryRefused when it is in vain."""
        headers = {"Authorization": f"Bearer {self.settings.secret}"}
        try:
            async with (
                aiohttp.ClientSession(self.settings.url, timeout=_TIMEOUT) as session,
                session.request(method, path, headers=headers, **options) as response,
            ):
                if response.status == HTTPStatus.GONE:
                    raise DeliveryRefused(f"{path!r} is gone. Invite the bot again.")
                response.raise_for_status()
                told: Mapping[str, Any] = await response.json()
                return told
        except (aiohttp.ClientError, TimeoutError) as error:
            raise DeliveryFailed(f"Pigeon did not take {method} {path!r}. Is it up?") from error


def _mark(interaction_id: InteractionId, part: str) -> str:
    return f"{interaction_id}/{part}"


def _part(notice: Notice, number: int) -> str:
    return f"{notice.to} {notice.number} {number}"


def _told(notice: Notice) -> tuple[str, ...]:
    return split(plain(as_plain(notice_text(notice))), LONGEST_NOTE)


def _shown(delivery: Delivery) -> tuple[str, ...]:
    outcome = delivery.outcome
    private = delivery.message.private
    return _parts(render(outcome.response, private=private, remarks=outcome.remarks))


def _parts(rendered: ResponseView) -> tuple[str, ...]:
    listed = "\n".join(_line(line) for line in rendered.lines)
    sources = f"{rendered.heading}\n{listed}" if listed else ""
    remarks = plain("\n".join(rendered.remarks))
    shown = (plain(rendered.text), sources, remarks, rendered.footer)
    return split("\n\n".join(part for part in shown if part), LONGEST_NOTE)


def _line(line: SourceLine) -> str:
    """Return a source; the double brackets are Pigeon's notation of a link."""
    mark = "-" if line.number is None else f"[{line.number}]"
    label = plain(line.label)
    page = f"[[{line.url}|{label}]]" if line.url else label
    told = plain(freshness(line, datetime.now(UTC)))
    return f"{mark} {page}, {told}" if told else f"{mark} {page}"


def _card(asked: HandOver, message: Message) -> Note:
    pages = [_line(line) for line in asked.lines]
    text = f"A question for a person: {asked.reason}\n{plain(asked.question)}"
    return {"thread": f"card {message.id}", "text": "\n".join([text, *pages])[:LONGEST_NOTE]}


def plain(text: str) -> str:
    """Return text in which Pigeon finds no link and nobody to call."""
    return text.replace("[[", "[ [").replace("@", "@\u200b")


PATH = "/platforms/pigeon/events"

Event = dict[str, Any]


def mount(app: web.Application, channel: PigeonChannel, context: ChatContext) -> None:
    """Serve what Pigeon reports."""
    app.router.add_post(PATH, Endpoint(channel, context.inbox, context.interactions).handle)


class Endpoint:
    """The way from a report to the inbox; decides nothing."""

    def __init__(self, channel: PigeonChannel, inbox: Inbox, interactions: Interactions) -> None:
        self._channel = channel
        self._inbox = inbox
        self._interactions = interactions

    async def handle(self, request: web.Request) -> web.Response:
        """Take one report; what could not be kept is not acknowledged, so it comes again."""
        given = request.headers.get("X-Pigeon-Secret", "")
        if not hmac.compare_digest(given.encode(), self._channel.settings.secret.encode()):
            raise web.HTTPUnauthorized(text="The secret is wrong.")
        try:
            await self._take(await request.json())
        except BotError as error:
            raise web.HTTPServiceUnavailable(text="It is not kept. Send it again.") from error
        return web.Response()

    async def _take(self, event: Event) -> None:
        match event["kind"]:
            case "asked":
                await self._inbox.accept(self._message(event))
            case "edited":
                await self._inbox.amend(self._message(event))
            case "deleted":
                with suppress(InteractionUnknown):  # it was no question to us
                    await self._inbox.cancel(self._message(event).interaction_id)
            case "judged":
                await self._judge(event)

    async def _judge(self, event: Event) -> None:
        ref = PostedRef(event["room"], event["note"])
        rated = await self._interactions.find_posted(self._channel.settings.tenant, ref)
        if rated is None:
            return
        if event["thumb"] is None:
            await self._interactions.unrate(rated.id, event["person"])
        else:
            await self._interactions.rate(new_feedback(rated.id, event["person"], event["thumb"]))

    def _message(self, event: Event) -> Message:
        """Return the question; room and id are the same however often it is reported."""
        tenant = self._channel.settings.tenant
        return Message(
            id=event["id"],
            thread=Thread("pigeon", tenant, event["room"], event["thread"]),
            author=Person(event["person"]),
            text=event["text"].strip(),
            received_at=datetime.now(UTC),
            private=event["private"],
        )
