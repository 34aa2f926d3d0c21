"""Handle the buttons and modals of a case: those of people on its card, and of its asker.

Whoever presses a card's button must be a colleague; Slack guarantees that they see the card's
channel. The same modal sent twice is one reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

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
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Interactions
from bot.domain.text.markdown import disarm, split
from bot.escalations import lifecycle
from bot.escalations.cards import CardActions
from bot.escalations.casework import LONGEST_REPLY, Casework, IdempotentActs
from bot.platforms.slack.actions.interactivity import (
    Press,
    PressDispatcher,
    input_block,
    modal,
    text_input,
    typed_value,
)
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.escalations.card_view import CARD_BUTTONS
from bot.platforms.slack.escalations.notices import ASKER_BUTTONS
from bot.platforms.slack.payloads.actions import DECLINE_FORM, REPLY_FORM
from bot.platforms.slack.payloads.events import id_at, object_at, response_url_of, text_at
from bot.platforms.slack.payloads.mrkdwn import escaped, to_mrkdwn
from bot.platforms.slack.rendering import section
from bot.platforms.slack.transport.requests import ACCEPT_SECONDS
from bot.platforms.slack.workspace.members import Colleagues


async def acting_colleague(colleagues: Colleagues, user: str) -> Actor:
    """Return a colleague as an actor, the same person as on the board.

    Raises ActionRejected for anybody else, DeliveryFailed.
    """
    member = await colleagues.of(user)
    if member is None:
        raise ActionRejected(COLLEAGUES_ONLY)
    return expert_of("slack", member.person)


TEXT_FIELD = "words"
"""The action id of the text field, and the id of its block."""

CASE_MODALS: Mapping[str, Act] = {REPLY_FORM: "reply", DECLINE_FORM: "decline"}

_LONGEST_FIELD = 3000
"""Slack's limit for the text of one field."""

_QUESTION_LENGTH = 1_000


def reply_modal(case: Case) -> Mapping[str, object]:
    """Return the modal for a reply, with the question above it."""
    hint = "It is posted where the question was asked, in your name."
    return _modal(case, REPLY_FORM, title="Reply", label="Your reply", hint=hint)


def decline_modal(case: Case) -> Mapping[str, object]:
    """Return the modal for the reason why a case is declined."""
    hint = "The one who asked reads it, with your name."
    return _modal(case, DECLINE_FORM, title="Not for us", label="Why, or who to ask", hint=hint)


def _modal(case: Case, name: str, *, title: str, label: str, hint: str) -> Mapping[str, object]:
    question = split(case.question, _QUESTION_LENGTH, lambda part: len(escaped(part)))[0]
    quoted = "\n".join(f"> {line}" for line in to_mrkdwn(disarm(question)).split("\n"))
    element = {**text_input(min(LONGEST_REPLY, _LONGEST_FIELD)), "focus_on_load": True}
    blocks = (
        section(split(quoted, 2 * _QUESTION_LENGTH)[0]),
        input_block(TEXT_FIELD, label, element, hint),
    )
    return modal(name, title, blocks, submit="Send", private_metadata=case.interaction_id)


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseModals:
    """Handles submitted modals of a card; one sent twice is one reply. Implements `Listener`."""

    acts: IdempotentActs
    colleagues: Colleagues

    def register(self, bolt: AsyncApp) -> None:
        for name in CASE_MODALS:
            bolt.view(name)(self._sent)

    async def _sent(self, ack: AsyncAck, body: dict[str, object], view: dict[str, object]) -> None:
        error = await self._submit(body, view)
        if error:
            await ack(response_action="errors", errors={TEXT_FIELD: error})
        else:
            await ack()

    async def _submit(self, body: dict[str, object], view: dict[str, object]) -> str:
        """Carry out a submission; return the error to show in the modal, "" if there is none."""
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await self._act(body, view)
        except (ActRefused, ActionRejected) as error:
            return str(error)
        except InteractionUnknown:
            return GONE
        except (BotError, TimeoutError) as error:
            log.warning("slack.form_not_taken", error=type(error).__name__, why=str(error))
            return LATER
        return ""

    async def _act(self, body: dict[str, object], view: dict[str, object]) -> None:
        case_id = interaction_named(text_at(view, "private_metadata"))
        actor = await acting_colleague(self.colleagues, id_at(object_at(body, "user"), "id"))
        act = CASE_MODALS[text_at(view, "callback_id")]
        key = f"slack:form:{text_at(view, 'id')}"
        await self.acts.say(key, case_id, act, actor, typed_value(view, TEXT_FIELD))


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseButtons:
    """Handles the buttons of a card. Implements `Listener`.

    Whoever presses must be a colleague; Slack guarantees that they see the card's channel.
    """

    tenant: str
    casework: Casework
    cards: CardActions
    colleagues: Colleagues
    presses: PressDispatcher
    client: SlackClient

    def register(self, bolt: AsyncApp) -> None:
        for act, name in CARD_BUTTONS.items():
            self.presses.on(bolt, name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> None:
        case_id = interaction_named(press.value)
        actor = await acting_colleague(self.colleagues, press.user)
        try:
            message = await self.cards.question(case_id, press.channel)
            await self._carry_out(act, press, case_id, actor)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        except ActRefused as error:
            self.cards.refresh(message)
            raise ActionRejected(escaped(str(error))) from error

    async def _carry_out(
        self, act: Act, press: Press, case_id: InteractionId, actor: Actor
    ) -> None:
        """Act, or open the modal for the text. Raises ActRefused, also if the text would be."""
        if act not in {"reply", "decline"}:
            await self.casework.act(self.tenant, case_id, act, actor)
            return
        case = (await self.casework.bare(self.tenant, case_id)).case
        lifecycle.after(case.status, act, actor, is_asker=actor.has(case.asker_id))
        view = reply_modal(case) if act == "reply" else decline_modal(case)
        await self.client.views_open(press.trigger_id, view)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskerButtons:
    """Handles the asker's buttons; others see them but are rejected. Implements `Listener`."""

    tenant: str
    casework: Casework
    interactions: Interactions
    presses: PressDispatcher

    def register(self, bolt: AsyncApp) -> None:
        for act, name in ASKER_BUTTONS.items():
            self.presses.on(bolt, name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> None:
        case_id = interaction_named(press.value)
        message = await self._question_of(case_id, press)
        if message.author.id != press.user:
            raise ActionRejected(ASKER_ONLY)
        actor = Actor(message.author.id, message.author.name, "asker")
        try:
            await self.casework.act(self.tenant, case_id, act, actor)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        except ActRefused as error:
            raise ActionRejected(escaped(str(error))) from error

    async def _question_of(self, case_id: InteractionId, press: Press) -> Message:
        """Return the question. Raises ActionRejected if it was asked in another channel.

        A question by command may be pressed anywhere: its notices are in a direct message.
        """
        interaction = await self.interactions.get(case_id)
        thread = interaction.message.thread if interaction else None
        if interaction is None or thread is None:
            raise ActionRejected(GONE)
        channel = press.channel if response_url_of(interaction.message) else thread.channel
        if (thread.platform, thread.tenant, channel) != ("slack", self.tenant, press.channel):
            raise ActionRejected(GONE)
        return interaction.message
