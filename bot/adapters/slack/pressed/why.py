"""Why this answer, or why none: a modal for whoever presses the button, or asks by command."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.pressed import why_view
from bot.adapters.slack.pressed.pressing import Press, Presses
from bot.adapters.slack.showing.modals import Modals
from bot.adapters.slack.wire.actions import WHY
from bot.answering.explanations.explainer import Explanation
from bot.chat.actions import LATER, ActionTargets, ExplainAction, interaction_named
from bot.domain.errors import BotError, InteractionUnknown

_SOON_SECONDS = 0.8
"""What takes longer is announced, while the trigger is still good."""

_NOTHING = "There is nothing left to explain: the question isn't here any more."

log = structlog.get_logger(__name__)


class WhyModals:
    """Shows explanations, each in a modal that opens at once. Raises DeliveryFailed."""

    def __init__(self, modals: Modals, *, soon_seconds: float = _SOON_SECONDS) -> None:
        self._modals = modals
        self._soon = soon_seconds

    async def show(
        self,
        trigger_id: str,
        explaining: Coroutine[Any, Any, Explanation],
        *,
        unknown: str = _NOTHING,
    ) -> None:
        """Show what an explanation comes to; ``unknown`` is said where there is nothing of it."""
        task = asyncio.create_task(_in_words(explaining, unknown))
        try:
            done, _ = await asyncio.wait({task}, timeout=self._soon)
            if done:
                await self._modals.open(trigger_id, task.result())
                return
            opened = await self._modals.open(trigger_id, why_view.one_moment())
            await self._modals.change(opened, await task)
        finally:
            task.cancel()


class Why:
    """Implements Registers: the button below an answer."""

    def __init__(
        self,
        *,
        why: ExplainAction,
        subjects: ActionTargets,
        presses: Presses,
        modals: WhyModals,
    ) -> None:
        self._why = why
        self._subjects = subjects
        self._presses = presses
        self._modals = modals

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, WHY, self._show)

    async def _show(self, press: Press) -> None:
        named = interaction_named(press.value)
        interaction = await self._subjects.acted_on(named, press.presser)
        explaining = self._why.explain(interaction, press.user)
        self._presses.show(press, self._modals.show(press.trigger_id, explaining))


async def _in_words(explaining: Coroutine[Any, Any, Explanation], unknown: str) -> Any:  # noqa: ANN401
    try:
        return why_view.explained(await explaining)
    except InteractionUnknown:
        return why_view.told(unknown)
    except BotError as error:
        log.warning("slack.why_failed", error=type(error).__name__, why=str(error))
        return why_view.told(LATER)
