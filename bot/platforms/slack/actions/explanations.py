"""Explain an answer in a modal, opened by the "Why" button or by command.

Only links that code built are live in the modal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.answering.explanations.explainer import Explanation, PageSummary
from bot.chat.actions import LATER, ActionTargets, ExplainAction, interaction_named
from bot.chat.response_view import web_url
from bot.domain.errors import BotError, InteractionUnknown
from bot.domain.text.markdown import clip, split
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher, modal
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.payloads.actions import WHY, WHY_VIEW
from bot.platforms.slack.payloads.mrkdwn import bold, escaped, escaped_label
from bot.platforms.slack.rendering import SECTION_LIMIT, Block, context, section

# Slack's limits for a modal: characters of the title, blocks.
_TITLE_LIMIT = 24
_MOST_BLOCKS = 100
ONE_MOMENT = "One moment, I'm looking it up\u2026"


def explanation_modal(explanation: Explanation) -> Mapping[str, object]:
    """Return the modal of an explanation."""
    return _modal(explanation.title, tuple(_blocks(explanation))[:_MOST_BLOCKS])


def sentence_modal(sentence: str) -> Mapping[str, object]:
    """Return a modal with one sentence that says why there is no explanation."""
    return _modal("Why", (section(escaped(sentence)),))


def _blocks(explanation: Explanation) -> Iterator[Block]:
    if explanation.question:
        yield section(f"> {escaped(explanation.question)}")
    for step in explanation.steps:
        yield from _sections(bold(clip(step.label, 80)), step.text)
    if explanation.sure is not None:
        sure = explanation.sure
        line = f"{sure.words}: {sure.told}, and an answer needs {sure.needed_told}"
        yield section(f"*How sure*\n{escaped(line)}")
    if explanation.pages:
        yield from _pages(explanation.pages)
    if explanation.left_out:
        yield context(escaped(explanation.left_out))


def _sections(heading: str, text: str) -> Iterator[Block]:
    """Yield the sections of a step, split at Slack's limit."""
    room = SECTION_LIMIT - len(heading) - 1
    first, *rest = split(text, room, lambda part: len(escaped(part)))
    yield section(f"{heading}\n{escaped(first)}")
    yield from (section(escaped(part)) for part in rest)


def _pages(pages: Sequence[PageSummary]) -> Iterator[Block]:
    yield section("*Pages I read*")
    for page in pages:
        where = f" \u203a {page.section}" if page.section else ""
        label = escaped_label(clip(f"{page.title}{where}", 150))
        url = web_url(page.url)
        shown = f"<{url}|{label}>" if url else label
        yield section(f"\u2022 {shown}, {escaped(page.found)}")


def _modal(title: str, blocks: Sequence[Block]) -> Mapping[str, object]:
    return modal(WHY_VIEW, clip(title, _TITLE_LIMIT), blocks)


_SOON_SECONDS = 0.8
"""After this time a waiting modal is opened, before the trigger expires."""

_NOTHING = "There is nothing left to explain: the question isn't here any more."

log = structlog.get_logger(__name__)


class ExplanationModals:
    """Shows explanations in modals that open at once. Raises DeliveryFailed."""

    def __init__(self, client: SlackClient, *, soon_seconds: float = _SOON_SECONDS) -> None:
        self._client = client
        self._soon = soon_seconds

    async def show(
        self,
        trigger_id: str,
        explaining: Coroutine[Any, Any, Explanation],
        *,
        unknown: str = _NOTHING,
    ) -> None:
        """Show an explanation in a modal, or the text ``unknown`` if the interaction is unknown."""
        task = asyncio.create_task(_modal_of(explaining, unknown))
        try:
            done, _ = await asyncio.wait({task}, timeout=self._soon)
            if done:
                await self._client.views_open(trigger_id, task.result())
                return
            opened = await self._client.views_open(trigger_id, sentence_modal(ONE_MOMENT))
            await self._client.views_update(opened, await task)
        finally:
            task.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyButton:
    """Handles the "Why" button below an answer. Implements `Listener`."""

    explain_action: ExplainAction
    targets: ActionTargets
    presses: PressDispatcher
    modals: ExplanationModals

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, WHY, self._show)

    async def _show(self, press: Press) -> None:
        named = interaction_named(press.value)
        interaction = await self.targets.acted_on(named, press.presser)
        explaining = self.explain_action.explain(interaction, press.user)
        self.presses.open_modal(press, self.modals.show(press.trigger_id, explaining))


async def _modal_of(explaining: Coroutine[Any, Any, Explanation], unknown: str) -> Any:  # noqa: ANN401
    try:
        return explanation_modal(await explaining)
    except InteractionUnknown:
        return sentence_modal(unknown)
    except BotError as error:
        log.warning("slack.why_failed", error=type(error).__name__, why=str(error))
        return sentence_modal(LATER)
