"""Presses of buttons: who pressed what where, taken in time, and told of when they can't be."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.adapters.slack.said.ongoing import ACCEPT_SECONDS
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.wire.events import Event, id_at, object_at, text_at, ts_at
from bot.chat.actions import LATER, ActingUser, ActionRejected
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, DeliveryFailed
from bot.domain.types import Person

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Press:
    """One press of a button, as Slack tells of it; nothing of it is checked yet.

    ``value`` is the button's. ``thread`` is "" where it was not pressed in one. ``trigger_id``
    opens a form within three seconds; ``response_url`` takes five messages at most.
    """

    user: str
    channel: str
    value: str
    thread: str = ""
    trigger_id: str = ""
    response_url: str = ""

    @property
    def presser(self) -> ActingUser:
        return presser(self.user, self.channel)


Take = Callable[[Press], Awaitable[None]]


class Presses:
    """Hands presses to who takes them; Slack sends none of them twice."""

    def __init__(self, asides: Asides, errands: BackgroundTasks) -> None:
        self._asides = asides
        self._errands = errands

    def on(self, bolt: AsyncApp, name: str | re.Pattern[str], take: Take) -> None:
        """Let presses of a button be taken, by the id of its action.

        ``take`` has 2.5 s. Declined is told to who pressed; so is, in general words, that anything
        else went wrong.
        """

        async def listen(ack: AsyncAck, body: dict[str, object], action: dict[str, object]) -> None:
            press = press_of(body, action)
            if press is None:
                log.info("slack.press_not_understood", action=str(name))
            else:
                await self._taken(press, take)
            await ack()

        bolt.action(name)(listen)

    def tell(self, press: Press, text: str) -> None:
        """Say something to who pressed, alone; it may be lost."""
        told = self._asides.tell(press.response_url, text, thread=press.thread)
        self._errands.run(told, what="told of a press")

    def show(self, press: Press, showing: Coroutine[Any, Any, object]) -> None:
        """Open a modal; it may be lost, but where Slack does not take it that is told."""
        self._errands.run(self._shown(press, showing), what="shown a form")

    async def _shown(self, press: Press, showing: Coroutine[Any, Any, object]) -> None:
        try:
            await showing
        except DeliveryFailed as error:
            log.warning("slack.form_not_shown", why=str(error))
            self.tell(press, LATER)

    async def _taken(self, press: Press, take: Take) -> None:
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await take(press)
        except ActionRejected as error:
            self.tell(press, str(error))
        except (BotError, TimeoutError) as error:
            log.warning("slack.press_not_taken", error=type(error).__name__, why=str(error))
            self.tell(press, LATER)


def press_of(body: Event, action: Event) -> Press | None:
    """Return what was pressed, or None for what names nobody, or no message in a channel."""
    container = object_at(body, "container")
    user = id_at(object_at(body, "user"), "id")
    channel = id_at(container, "channel_id") or id_at(object_at(body, "channel"), "id")
    if not (user and channel):
        return None
    return Press(
        user=user,
        channel=channel,
        value=text_at(action, "value"),
        thread=ts_at(container, "thread_ts"),
        trigger_id=text_at(body, "trigger_id"),
        response_url=text_at(body, "response_url"),
    )


def presser(user: str, channel: str) -> ActingUser:
    """Return who acts in a channel, known to Slack by their id alone."""
    return ActingUser(Person(user), channel, reference=user)
