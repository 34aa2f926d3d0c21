"""Handle the buttons and modals of a case: those of people on its card, and of its asker.

Whoever presses a card's button must be a colleague; Slack guarantees that they see the card's
channel. The same modal sent twice is one reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Protocol

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.chat.actions import (
    ASKER_ONLY,
    COLLEAGUES_ONLY,
    GONE,
    LATER,
    ActionRejected,
    interaction_named,
)
from bot.domain.cases import Act, Actor, Case, expert_of
from bot.domain.errors import ActRefused, BotError, InteractionUnknown
from bot.domain.messages import InteractionId, Message, Person
from bot.domain.ports import Interactions, Notes
from bot.domain.text.markdown import disarm, split
from bot.escalations import lifecycle
from bot.escalations.cards import CardActions
from bot.escalations.casework import LONGEST_REPLY, Casework, IdempotentActs
from bot.platforms.slack.actions.interactivity import Modals, Press, PressDispatcher, typed_value
from bot.platforms.slack.escalations.card_view import CARD_BUTTONS
from bot.platforms.slack.escalations.notices import ASKER_BUTTONS
from bot.platforms.slack.payloads.actions import DECLINE_FORM, REPLY_FORM
from bot.platforms.slack.payloads.events import id_at, object_at, response_url_of, text_at
from bot.platforms.slack.payloads.mrkdwn import escaped, to_mrkdwn
from bot.platforms.slack.rendering import plain_text, section
from bot.platforms.slack.transport.dispatch import ACCEPT_SECONDS


class KnownColleague(Protocol):
    """A colleague's name and e-mail address; ``email`` only if it is verified."""

    @property
    def name(self) -> str: ...

    @property
    def email(self) -> str | None: ...


class KnowsColleagues(Protocol):
    """Looks up colleagues, as opposed to guests, bots and people of other organisations."""

    async def of(self, user_id: str) -> KnownColleague | None:
        """Return a colleague, None for anybody else. Raises bot.domain.errors.DeliveryFailed."""
        ...


class Experts:
    """Resolves colleagues to actors, so that they are the same person on the board."""

    def __init__(self, colleagues: KnowsColleagues) -> None:
        self._colleagues = colleagues

    async def actor(self, user: str) -> Actor:
        """Return the acting colleague. Raises ActionRejected for anybody else, DeliveryFailed."""
        known = await self._colleagues.of(user)
        if known is None:
            raise ActionRejected(COLLEAGUES_ONLY)
        return expert_of("slack", Person(user, name=known.name, email=known.email))


TEXT_FIELD = "words"
"""The action id of the text field, and the id of its block."""

CASE_MODALS: Mapping[str, Act] = {REPLY_FORM: "reply", DECLINE_FORM: "decline"}

_LONGEST_FIELD = 3000
"""Slack's limit for the text of one field."""

_QUESTION_LENGTH = 1_000


def reply_modal(case: Case) -> dict[str, object]:
    """Return the modal for a reply, with the question above it."""
    hint = "It is posted where the question was asked, in your name."
    return _modal(case, REPLY_FORM, title="Reply", label="Your reply", hint=hint)


def decline_modal(case: Case) -> dict[str, object]:
    """Return the modal for the reason why a case is declined."""
    hint = "The one who asked reads it, with your name."
    return _modal(case, DECLINE_FORM, title="Not for us", label="Why, or who to ask", hint=hint)


def _modal(case: Case, name: str, *, title: str, label: str, hint: str) -> dict[str, object]:
    asked = split(case.question, _QUESTION_LENGTH, lambda part: len(escaped(part)))[0]
    quoted = "\n".join(f"> {line}" for line in to_mrkdwn(disarm(asked)).split("\n"))
    return {
        "type": "modal",
        "callback_id": name,
        "private_metadata": case.interaction_id,
        "title": plain_text(title),
        "submit": plain_text("Send"),
        "close": plain_text("Cancel"),
        "blocks": [dict(section(split(quoted, 2 * _QUESTION_LENGTH)[0])), _input(label, hint)],
    }


def _input(label: str, hint: str) -> dict[str, object]:
    element = {
        "type": "plain_text_input",
        "action_id": TEXT_FIELD,
        "multiline": True,
        "max_length": min(LONGEST_REPLY, _LONGEST_FIELD),
        "focus_on_load": True,
    }
    return {
        "type": "input",
        "block_id": TEXT_FIELD,
        "label": plain_text(label),
        "hint": plain_text(hint),
        "element": element,
    }


log = structlog.get_logger(__name__)


class CaseModals:
    """Handles submitted modals of a card; one sent twice is one reply. Implements `Listener`."""

    def __init__(self, *, tenant: str, casework: Casework, experts: Experts, notes: Notes) -> None:
        self._experts = experts
        self._saying = IdempotentActs(tenant=tenant, casework=casework, notes=notes)

    def register(self, bolt: AsyncApp) -> None:
        for name in CASE_MODALS:
            bolt.view(name)(self._sent)

    async def _sent(self, ack: AsyncAck, body: dict[str, object], view: dict[str, object]) -> None:
        trouble = await self._trouble(body, view)
        if trouble:
            await ack(response_action="errors", errors={TEXT_FIELD: trouble})
        else:
            await ack()

    async def _trouble(self, body: dict[str, object], view: dict[str, object]) -> str:
        """Carry out a submission; return the error to show in the modal, "" if there is none."""
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await self._take(body, view)
        except (ActRefused, ActionRejected) as error:
            return str(error)
        except InteractionUnknown:
            return GONE
        except (BotError, TimeoutError) as error:
            log.warning("slack.form_not_taken", error=type(error).__name__, why=str(error))
            return LATER
        return ""

    async def _take(self, body: dict[str, object], view: dict[str, object]) -> None:
        case_id = interaction_named(text_at(view, "private_metadata"))
        actor = await self._experts.actor(id_at(object_at(body, "user"), "id"))
        act = CASE_MODALS[text_at(view, "callback_id")]
        form = text_at(view, "id")
        words = typed_value(view, TEXT_FIELD)
        await self._saying.say(f"slack:form:{form}", case_id, act, actor, words)


class CaseButtons:
    """Handles the buttons of a card. Implements `Listener`.

    Whoever presses must be a colleague; Slack guarantees that they see the card's channel.
    """

    def __init__(
        self,
        *,
        tenant: str,
        casework: Casework,
        cards: CardActions,
        experts: Experts,
        presses: PressDispatcher,
        modals: Modals,
    ) -> None:
        self._tenant = tenant
        self._casework = casework
        self._cards = cards
        self._experts = experts
        self._presses = presses
        self._modals = modals

    def register(self, bolt: AsyncApp) -> None:
        for act, name in CARD_BUTTONS.items():
            self._presses.on(bolt, name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> None:
        case_id = interaction_named(press.value)
        actor = await self._experts.actor(press.user)
        try:
            message = await self._cards.question(case_id, press.channel)
            await self._done(act, press, case_id, actor)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        except ActRefused as error:
            self._cards.refresh(message)
            raise ActionRejected(escaped(str(error))) from error

    async def _done(self, act: Act, press: Press, case_id: InteractionId, actor: Actor) -> None:
        if act in {"reply", "decline"}:
            await self._ask_for_words(act, press, case_id, actor)
        else:
            await self._casework.act(self._tenant, case_id, act, actor)

    async def _ask_for_words(
        self, act: Act, press: Press, case_id: InteractionId, actor: Actor
    ) -> None:
        """Open the modal. Raises ActRefused if its act would be refused anyway."""
        case = (await self._casework.bare(self._tenant, case_id)).case
        lifecycle.after(case.status, act, actor, is_asker=actor.has(case.asker_id))
        form = reply_modal(case) if act == "reply" else decline_modal(case)
        await self._modals.open(press.trigger_id, form)


class AskerButtons:
    """Handles the asker's buttons; others see them but are rejected. Implements `Listener`."""

    def __init__(
        self,
        *,
        tenant: str,
        casework: Casework,
        interactions: Interactions,
        presses: PressDispatcher,
    ) -> None:
        self._tenant = tenant
        self._casework = casework
        self._interactions = interactions
        self._presses = presses

    def register(self, bolt: AsyncApp) -> None:
        for act, name in ASKER_BUTTONS.items():
            self._presses.on(bolt, name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> None:
        case_id = interaction_named(press.value)
        message = await self._asked_there(case_id, press)
        if message.author.id != press.user:
            raise ActionRejected(ASKER_ONLY)
        actor = Actor(message.author.id, message.author.name, "asker")
        try:
            await self._casework.act(self._tenant, case_id, act, actor)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        except ActRefused as error:
            raise ActionRejected(escaped(str(error))) from error

    async def _asked_there(self, case_id: InteractionId, press: Press) -> Message:
        """Return the question. Raises ActionRejected if it was asked in another channel.

        A question by command may be pressed anywhere: its notices are in a direct message.
        """
        asked = await self._interactions.get(case_id)
        thread = asked.message.thread if asked else None
        if asked is None or thread is None:
            raise ActionRejected(GONE)
        channel = press.channel if response_url_of(asked.message) else thread.channel
        if (thread.platform, thread.tenant, channel) != ("slack", self._tenant, press.channel):
            raise ActionRejected(GONE)
        return asked.message
