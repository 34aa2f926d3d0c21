"""What an asker presses below the news of their question: it is closed, or asked again."""

from __future__ import annotations

from functools import partial

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.cases.news import below
from bot.adapters.teams.wire.actions import ASKERS
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.invokes import card_answer
from bot.errors import ActRefused, InteractionUnknown
from bot.escalations.last_news import remark_on
from bot.escalations.offering import askers_offers, last_act
from bot.escalations.pressing import Recorded
from bot.escalations.saying_once import Works
from bot.escalations.types import Act, Actor
from bot.pressing.declining import ASKER_ONLY, GONE, Declined
from bot.types import Message


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
            raise Declined(ASKER_ONLY)
        actor = Actor(message.author.id, message.author.name, "asker")
        try:
            await self._works.act(self._tenant, press.about, act, actor)
            view = await self._works.bare(self._tenant, press.about)
        except InteractionUnknown as error:
            raise Declined(GONE) from error
        except ActRefused as error:
            raise Declined(str(error)) from error
        did = last_act(view.steps)
        offers = askers_offers(view.case.standing.state)
        return card_answer(below(press.about, offers, remark_on(did) if did else ""))

    async def _asked_there(self, press: Press) -> Message:
        """Return the question, which was asked where this was pressed."""
        asked = await self._recorded.get(press.about)
        thread = asked.message.thread if asked else None
        if asked is None or thread is None:
            raise Declined(GONE)
        if (thread.platform, thread.tenant, thread.channel) != (
            "teams",
            self._tenant,
            press.channel,
        ):
            raise Declined(GONE)
        return asked.message
