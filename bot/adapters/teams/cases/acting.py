"""What people press on a card: they claim, release, resolve, reply, or say why it is not theirs."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Protocol

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.cases.card import Aside
from bot.adapters.teams.cases.case_forms import VERSION, asks_for_words, words_in
from bot.adapters.teams.cases.experts import Experts
from bot.adapters.teams.wire.actions import CASES
from bot.adapters.teams.wire.body import Json, text_at
from bot.adapters.teams.wire.invokes import card_answer
from bot.chat.actions import GONE, ActionRejected
from bot.domain.cases import Act, Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.types import Message, PostedRef
from bot.escalations.cards import CardActions
from bot.escalations.case_view import CaseView
from bot.escalations.casework import IdempotentActs, Works


class Faces(Protocol):
    """Cards as who presses on them sees them: bot.adapters.teams.cases.people.People."""

    def face(self, message: Message, view: CaseView, aside: Aside | None = None) -> Json: ...

    async def found(self, message: Message, at: PostedRef) -> None: ...


class CaseButtons:
    """Implements Registers: the buttons of a card, and the forms that it unfolds.

    Who presses sees the card as it is then at once; everybody else when it is edited. Who came
    too late sees why, and keeps what they wrote.
    """

    def __init__(
        self,
        *,
        tenant: str,
        works: Works,
        saying: IdempotentActs,
        cards: CardActions,
        faces: Faces,
        experts: Experts,
    ) -> None:
        self._tenant = tenant
        self._works = works
        self._saying = saying
        self._cards = cards
        self._faces = faces
        self._experts = experts

    def register(self, dispatch: Dispatch) -> None:
        for act, name in CASES.items():
            dispatch.on_press(name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> Json:
        actor = await self._experts.actor(press)
        try:
            message, at = await self._cards.place(press.about, press.channel)
            aside = await self._done(act, press, actor)
            view = await self._cards.view(press.about)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        if not at.id:
            await self._faces.found(message, PostedRef(press.channel, press.on))
        if aside is not None:
            self._cards.refresh(message)
        return card_answer(self._faces.face(message, view, aside))

    async def _done(self, act: Act, press: Press, actor: Actor) -> Aside | None:
        """Do it; return what who pressed is told where it can't be done."""
        words = words_in(act, press.data) if asks_for_words(act) else ""
        try:
            if asks_for_words(act):
                key = _form(act, press, actor, words)
                await self._saying.say(key, press.about, act, actor, words)
            else:
                await self._works.act(self._tenant, press.about, act, actor)
        except ActRefused as error:
            return Aside(str(error), words)
        return None


def _form(act: Act, press: Press, actor: Actor, words: str) -> str:
    """Return what names a form: the same words about the same version, sent twice, are one.

    The card that its writer sees next has another version.
    """
    said = hashlib.sha256(f"{act}\n{actor.id}\n{words}".encode()).hexdigest()[:32]
    return f"teams:form:{press.about}:{text_at(press.data, VERSION)}:{said}"
