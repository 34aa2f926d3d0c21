"""What people write in the forms of a case: sent once, or said why not, with the words kept."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.adapters.slack.cases.acting import Works
from bot.adapters.slack.cases.case_forms import FIELD, FORMS
from bot.adapters.slack.cases.experts import Experts
from bot.adapters.slack.pressed.pressing import GONE, LATER, Declined, interaction_named
from bot.adapters.slack.said.messages import ACCEPT_SECONDS
from bot.adapters.slack.showing.modals import value_in
from bot.adapters.slack.wire.events import id_at, object_at, text_at
from bot.errors import ActRefused, BotError, InteractionUnknown
from bot.escalations.types import Act, Actor
from bot.ports import Notes
from bot.types import InteractionId

_DONE = "done"

log = structlog.get_logger(__name__)


class CaseWords:
    """Implements Registers: the forms of a card.

    The same form sent twice is one reply: a note under the form's id says that it was sent. A
    process that died in between left the note open; then the history says whether it was.
    """

    def __init__(self, *, tenant: str, works: Works, experts: Experts, notes: Notes) -> None:
        self._tenant = tenant
        self._works = works
        self._experts = experts
        self._notes = notes
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def register(self, bolt: AsyncApp) -> None:
        for name in FORMS:
            bolt.view(name)(self._sent)

    async def _sent(self, ack: AsyncAck, body: dict[str, object], view: dict[str, object]) -> None:
        trouble = await self._trouble(body, view)
        if trouble:
            await ack(response_action="errors", errors={FIELD: trouble})
        else:
            await ack()

    async def _trouble(self, body: dict[str, object], view: dict[str, object]) -> str:
        """Do what the form says; return what its writer is told when it can't be done."""
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await self._take(body, view)
        except (ActRefused, Declined) as error:
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
        act = FORMS[text_at(view, "callback_id")]
        form = text_at(view, "id")
        # Slack sends a form once, its writer perhaps again.
        turn = self._turns.setdefault(form, asyncio.Lock())
        async with turn:
            await self._once(f"slack:form:{form}", case_id, act, actor, value_in(view, FIELD))

    async def _once(
        self, key: str, case_id: InteractionId, act: Act, actor: Actor, words: str
    ) -> None:
        said = await self._said(case_id, act, actor, words)
        if not await self._notes.first(self._tenant, key, str(said), interaction_id=case_id):
            before = await self._notes.get(self._tenant, key) or ""
            if before == _DONE or (before.isdecimal() and said > int(before)):
                return
        await self._works.act(self._tenant, case_id, act, actor, words)
        await self._notes.put(self._tenant, key, _DONE, interaction_id=case_id)

    async def _said(self, case_id: InteractionId, act: Act, actor: Actor, words: str) -> int:
        """Return how often somebody has said the same of a case."""
        steps = (await self._works.bare(self._tenant, case_id)).steps
        same = (act, actor.id, words.strip())
        return sum(same == (each.step, each.actor and each.actor.id, each.text) for each in steps)
