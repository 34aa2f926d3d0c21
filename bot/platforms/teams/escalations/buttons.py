"""Handle the buttons of a case: experts' on its card, and the asker's below a notice."""

from __future__ import annotations

import hashlib
from functools import partial

from bot.chat.actions import ASKER_ONLY, GONE, ActionRejected
from bot.chat.adapters import ChatContext
from bot.domain.cases import Act, Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.interactions import PostedRef
from bot.domain.messages import Message
from bot.escalations.asker_notices import remark_on
from bot.escalations.cards import CardActions
from bot.escalations.case_view import buttons_for_asker, last_act
from bot.escalations.casework import IdempotentActs
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.escalations.card_view import (
    VERSION_KEY,
    PresserNote,
    asks_for_words,
    words_in,
)
from bot.platforms.teams.escalations.notices import asker_card
from bot.platforms.teams.payloads.actions import ASKER_ACTIONS, CASE_ACTIONS, Press
from bot.platforms.teams.payloads.activity import Json, text_at
from bot.platforms.teams.rendering.cards import card_answer
from bot.platforms.teams.transport.dispatch import Dispatch


class CaseButtons:
    """Handles the buttons and forms of a case card. Implements `Listener`.

    The presser gets the current card at once, everybody else when it is edited. A presser whose
    action is refused sees the reason, and keeps their text.
    """

    def __init__(self, channel: TeamsChannel, context: ChatContext) -> None:
        self._tenant = tenant = context.tenant
        self._casework = casework = context.casework
        self._idempotent = IdempotentActs(tenant=tenant, casework=casework, notes=context.notes)
        self._cards = CardActions(
            tenant=tenant,
            casework=casework,
            interactions=context.interactions,
            cards=channel,
            background=channel.background,
        )
        self._own_cards = channel.people.cards
        self._colleagues = channel.colleagues

    def register(self, dispatch: Dispatch) -> None:
        for act, name in CASE_ACTIONS.items():
            dispatch.on_press(name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> Json:
        actor = await self._colleagues.expert(press)
        try:
            message, at = await self._cards.place(press.about, press.channel)
            note = await self._apply(act, press, actor)
            view = await self._cards.view(press.about)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        if not at.id:
            await self._own_cards.adopt(message, PostedRef(press.channel, press.on))
        if note is not None:
            self._cards.refresh(message)
        return card_answer(self._own_cards.card_for_presser(message, view, note))

    async def _apply(self, act: Act, press: Press, actor: Actor) -> PresserNote | None:
        """Apply an action; return a note for the presser if it was refused, else None."""
        words = words_in(act, press.data) if asks_for_words(act) else ""
        try:
            if asks_for_words(act):
                key = _form_key(act, press, actor, words)
                await self._idempotent.say(key, press.about, act, actor, words)
            else:
                await self._casework.act(self._tenant, press.about, act, actor)
        except ActRefused as error:
            return PresserNote(str(error), words)
        return None


def _form_key(act: Act, press: Press, actor: Actor, words: str) -> str:
    """Return the idempotency key of a form: same text, same version of the case, sent twice.

    After an action the writer's next card has another version, so the same text counts again.
    """
    said = hashlib.sha256(f"{act}\n{actor.id}\n{words}".encode()).hexdigest()[:32]
    return f"teams:form:{press.about}:{text_at(press.data, VERSION_KEY)}:{said}"


class AskerButtons:
    """Handles the asker's buttons, which others see but can't use. Implements `Listener`."""

    def __init__(self, context: ChatContext) -> None:
        self._tenant = context.tenant
        self._casework = context.casework
        self._interactions = context.interactions

    def register(self, dispatch: Dispatch) -> None:
        for act, name in ASKER_ACTIONS.items():
            dispatch.on_press(name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> Json:
        message = await self._question_of(press)
        if message.author.id != press.person.id:
            raise ActionRejected(ASKER_ONLY)
        actor = Actor(message.author.id, message.author.name, "asker")
        try:
            await self._casework.act(self._tenant, press.about, act, actor)
            view = await self._casework.bare(self._tenant, press.about)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        except ActRefused as error:
            raise ActionRejected(str(error)) from error
        did = last_act(view.steps)
        offers = buttons_for_asker(view.case.status.state)
        return card_answer(asker_card(press.about, offers, remark_on(did) if did else ""))

    async def _question_of(self, press: Press) -> Message:
        """Return the question. Raises ActionRejected if it was not asked in this conversation."""
        asked = await self._interactions.get(press.about)
        thread = asked.message.thread if asked else None
        if asked is None or thread is None:
            raise ActionRejected(GONE)
        if (thread.platform, thread.tenant, thread.channel) != (
            "teams",
            self._tenant,
            press.channel,
        ):
            raise ActionRejected(GONE)
        return asked.message
