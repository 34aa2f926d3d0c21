"""Parse button presses, dispatch them to their handlers in time, and open modals.

A handler has 2.5 s. The reason of a rejection is shown to the user who pressed, and a general
message for any other error. A modal can be opened for three seconds after the press.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.actions import LATER, ActingUser, ActionRejected
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, DeliveryFailed
from bot.domain.messages import Person
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.messages.response_urls import ResponseUrls
from bot.platforms.slack.payloads.events import Event, id_at, object_at, text_at, ts_at
from bot.platforms.slack.transport.dispatch import ACCEPT_SECONDS

_PATIENCE_SECONDS = 1.0  # views.open must not wait longer: its trigger expires after 3 s


class Modals:
    """Opens and updates modals. Raises DeliveryFailed."""

    def __init__(self, client: AsyncWebClient, caller: ApiCaller) -> None:
        self._client = client
        self._caller = caller

    async def open(self, trigger_id: str, view: Mapping[str, object]) -> str:
        """Open a modal; return its view id."""
        answer = await self._caller.call(
            "views.open",
            lambda: self._client.views_open(trigger_id=trigger_id, view={**view}),
            patience_seconds=_PATIENCE_SECONDS,
        )
        return text_at(answer.get("view") or {}, "id")

    async def change(self, view_id: str, view: Mapping[str, object]) -> None:
        """Replace the view of an open modal."""
        await self._caller.call(
            "views.update", lambda: self._client.views_update(view_id=view_id, view={**view})
        )


def typed_value(view: Event, field: str) -> str:
    """Return the text typed into a field whose block has the same id; "" if there is none."""
    values = object_at(object_at(view, "state"), "values")
    return text_at(object_at(object_at(values, field), field), "value")


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Press:
    """A button press as Slack reports it; nothing of it is verified yet.

    ``value`` is the button's. ``thread`` is "" for a press outside a thread. ``trigger_id`` opens a
    modal within three seconds; ``response_url`` takes five messages at most.
    """

    user: str
    channel: str
    value: str
    thread: str = ""
    trigger_id: str = ""
    response_url: str = ""

    @property
    def presser(self) -> ActingUser:
        return presser_in(self.user, self.channel)


PressHandler = Callable[[Press], Awaitable[None]]


class PressDispatcher:
    """Dispatches button presses to their handlers; Slack sends no press twice."""

    def __init__(self, asides: ResponseUrls, background: BackgroundTasks) -> None:
        self._asides = asides
        self._background = background

    def on(self, bolt: AsyncApp, name: str | re.Pattern[str], take: PressHandler) -> None:
        """Register a handler for the presses of a button, by action id or a pattern of it.

        ``take`` has 2.5 s. The text of an ActionRejected is shown to the user who pressed; after
        any other error, or a timeout, they see a general message.
        """

        async def listen(ack: AsyncAck, body: dict[str, object], action: dict[str, object]) -> None:
            press = parse_press(body, action)
            if press is None:
                log.info("slack.press_not_understood", action=str(name))
            else:
                await self._taken(press, take)
            await ack()

        bolt.action(name)(listen)

    def tell(self, press: Press, text: str) -> None:
        """Show a message to the user who pressed, alone, in the background; it may be lost."""
        told = self._asides.tell(press.response_url, text, thread=press.thread)
        self._background.run(told, what="told of a press")

    def show(self, press: Press, showing: Coroutine[Any, Any, object]) -> None:
        """Open a modal in the background; it may be lost, but a refusal by Slack is shown."""
        self._background.run(self._shown(press, showing), what="shown a form")

    async def _shown(self, press: Press, showing: Coroutine[Any, Any, object]) -> None:
        try:
            await showing
        except DeliveryFailed as error:
            log.warning("slack.form_not_shown", why=str(error))
            self.tell(press, LATER)

    async def _taken(self, press: Press, take: PressHandler) -> None:
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await take(press)
        except ActionRejected as error:
            self.tell(press, str(error))
        except (BotError, TimeoutError) as error:
            log.warning("slack.press_not_taken", error=type(error).__name__, why=str(error))
            self.tell(press, LATER)


def parse_press(body: Event, action: Event) -> Press | None:
    """Return the button press, or None if it has no user or no channel."""
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


def presser_in(user: str, channel: str) -> ActingUser:
    """Return the user acting in a channel; only their id is known."""
    return ActingUser(Person(user), channel, reference=user)
