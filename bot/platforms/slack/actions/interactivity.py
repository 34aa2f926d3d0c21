"""Parse button presses, dispatch them to their handlers in time, and build modals.

A handler has 2.5 s. The reason of a rejection is shown to the user who pressed, and a general
message for any other error. A modal can be opened for three seconds after the press.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.chat.actions import LATER, REJECTIONS, ActingUser, rejection_text
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, DeliveryFailed
from bot.domain.messages import Person
from bot.domain.texts import ENGLISH, Language, tr
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.dispatch import ACCEPT_SECONDS
from bot.platforms.slack.payloads.events import Event, id_at, object_at, text_at, ts_at
from bot.platforms.slack.payloads.markup import escaped
from bot.platforms.slack.rendering import Block, MessageForm, plain_text


def modal(
    callback_id: str,
    title: str,
    blocks: Sequence[Block],
    *,
    submit: str = "",
    private_metadata: str = "",
) -> Mapping[str, object]:
    """Return a modal, with a button to submit it if that has a label."""
    buttons = {"close": plain_text(tr("Close"))}
    if submit:
        buttons = {"submit": plain_text(submit), "close": plain_text(tr("Cancel"))}
    return {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": private_metadata,
        "title": plain_text(title),
        **buttons,
        "blocks": list(blocks),
    }


def input_block(
    field: str, label: str, element: Block, hint: str = "", *, optional: bool = False
) -> Block:
    """Return a field of a modal; ``field`` is the id of its block and of its element."""
    return {
        "type": "input",
        "block_id": field,
        "label": plain_text(label),
        "element": {**element, "action_id": field},
        "optional": optional,
        **({"hint": plain_text(hint)} if hint else {}),
    }


def text_input(longest: int) -> Block:
    """Return the element of a field for several lines of text."""
    return {"type": "plain_text_input", "multiline": True, "max_length": longest}


def modal_metadata(view: Event) -> Mapping[str, object]:
    """Return a modal's private metadata, {} if invalid: it comes from a client."""
    try:
        metadata = json.loads(text_at(view, "private_metadata"))
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}


def submitted_field(view: Event, field: str) -> Event:
    """Return what was submitted in a field whose block has the same id; {} if there is none."""
    values = object_at(object_at(view, "state"), "values")
    return object_at(object_at(values, field), field)


def typed_value(view: Event, field: str) -> str:
    """Return the text typed into a field; "" if there is none."""
    return text_at(submitted_field(view, field), "value")


def selected_values(view: Event, field: str) -> list[str]:
    """Return the values of the options selected in a field."""
    options = submitted_field(view, field).get("selected_options")
    listed = options if isinstance(options, list) else []
    return [text_at(each, "value") for each in listed if isinstance(each, Mapping)]


log = structlog.get_logger(__name__)


async def submit_modal(
    ack: AsyncAck,
    field: str,
    handling: Awaitable[None],
    *,
    then: Mapping[str, object] | None = None,
    language: Language = ENGLISH,
) -> bool:
    """Carry out a submitted modal and acknowledge it; return False if an error is shown at a field.

    The user waits 2.5 s at most. ``then`` is the modal shown afterwards; None closes it.
    """
    if error := await _error_of(handling, "slack.form_not_taken"):
        await ack(response_action="errors", errors={field: language.text(error)})
    elif then is not None:
        await ack(response_action="update", view=language.render_all(then))
    else:
        await ack()
    return not error


async def _error_of(handling: Awaitable[None], failed: str) -> str:
    """Carry out a user's action in time; return what they read about an error, "" without one.

    ``failed`` is the log event of an error for which they read a general message.
    """
    try:
        async with asyncio.timeout(ACCEPT_SECONDS):
            await handling
    except REJECTIONS as error:
        return rejection_text(error)
    except (BotError, TimeoutError) as error:
        log.warning(failed, error=type(error).__name__, why=str(error))
        return LATER
    return ""


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

    def __init__(self, client: SlackClient, background: BackgroundTasks) -> None:
        self._client = client
        self._background = background

    def on(self, bolt: AsyncApp, name: str | re.Pattern[str], handle: PressHandler) -> None:
        """Register a handler for the presses of a button, by action id or a pattern of it.

        ``handle`` has 2.5 s. The user who pressed sees why their press is rejected; after any other
        error, or a timeout, they see a general message.
        """

        async def listen(ack: AsyncAck, body: dict[str, object], action: dict[str, object]) -> None:
            press = parse_press(body, action)
            if press is None:
                log.info("slack.press_not_understood", action=str(name))
            elif error := await _error_of(handle(press), "slack.press_not_taken"):
                self.tell(press, escaped(error))
            await ack()

        bolt.action(name)(listen)

    def tell(self, press: Press, text: str) -> None:
        """Show a message to the user who pressed, alone, in the background; it may be lost."""
        forms = (MessageForm(text),)
        response = self._client.respond(press.response_url, forms, thread_ts=press.thread)
        self._background.run(response, what="told of a press")

    def replace(self, press: Press, text: str) -> None:
        """Replace the ephemeral message that has the button, in the background; may be lost."""
        forms = (MessageForm(text),)
        response = self._client.respond(press.response_url, forms, replace=True)
        self._background.run(response, what="told of a press")

    def open_modal(self, press: Press, opening: Coroutine[Any, Any, object]) -> None:
        """Open a modal in the background; it may be lost, but a refusal by Slack is shown."""
        self._background.run(self._open_modal(press, opening), what="shown a form")

    async def _open_modal(self, press: Press, opening: Coroutine[Any, Any, object]) -> None:
        try:
            await opening
        except DeliveryFailed as error:
            log.warning("slack.form_not_shown", why=str(error))
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
