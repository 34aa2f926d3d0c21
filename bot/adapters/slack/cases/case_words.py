"""What people write in the forms of a case: sent once, or said why not, with the words kept."""

from __future__ import annotations

import asyncio

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.adapters.slack.cases.case_forms import FIELD, FORMS
from bot.adapters.slack.cases.experts import Experts
from bot.adapters.slack.said.ongoing import ACCEPT_SECONDS
from bot.adapters.slack.showing.modals import value_in
from bot.adapters.slack.wire.events import id_at, object_at, text_at
from bot.chat.actions import GONE, LATER, ActionRejected, interaction_named
from bot.domain.errors import ActRefused, BotError, InteractionUnknown
from bot.domain.ports import Notes
from bot.escalations.casework import IdempotentActs, Works

log = structlog.get_logger(__name__)


class CaseWords:
    """Implements Registers: the forms of a card; the same form sent twice is one reply."""

    def __init__(self, *, tenant: str, works: Works, experts: Experts, notes: Notes) -> None:
        self._experts = experts
        self._saying = IdempotentActs(tenant=tenant, works=works, notes=notes)

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
        act = FORMS[text_at(view, "callback_id")]
        form = text_at(view, "id")
        words = value_in(view, FIELD)
        await self._saying.say(f"slack:form:{form}", case_id, act, actor, words)
