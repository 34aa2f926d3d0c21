"""What an asker presses below the news of their question: it is closed, or asked again."""

from __future__ import annotations

from functools import partial

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.cases.news import below
from bot.adapters.teams.wire.actions import ASKERS
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.invokes import card_answer
from bot.chat.actions import ASKER_ONLY, GONE, ActionRejected
from bot.domain.cases import Act, Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.types import Message
from bot.escalations.asker_notices import remark_on
from bot.escalations.cards import Recorded
from bot.escalations.case_view import buttons_for_asker, last_act
from bot.escalations.casework import Works


class AskerButtons:
    """Implements Registers: the asker's buttons; others see them and can't use them."""

    def __init__(self, *, tenant: str, works: Works, recorded: Recorded) -> None:
        self._tenant = tenant
        self._works = works
        self._recorded = recorded

    def register(self, dispatch: Dispatch) -> None:
        for act, name in ASKERS.items():
            dispatch.on_press(name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> Json:
        message = await self._asked_there(press)
        if message.author.id != press.person.id:
            raise ActionRejected(ASKER_ONLY)
        actor = Actor(message.author.id, message.author.name, "asker")
        try:
            await self._works.act(self._tenant, press.about, act, actor)
            view = await self._works.bare(self._tenant, press.about)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        except ActRefused as error:
            raise ActionRejected(str(error)) from error
        did = last_act(view.steps)
        offers = buttons_for_asker(view.case.standing.state)
        return card_answer(below(press.about, offers, remark_on(did) if did else ""))

    async def _asked_there(self, press: Press) -> Message:
        """Return the question, which was asked where this was pressed."""
        asked = await self._recorded.get(press.about)
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
