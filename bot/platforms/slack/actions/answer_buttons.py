"""Handle the buttons below a reply: why, ask a person, choose an option, show the private answer.

An explanation is a modal, opened by button or by command; only links that code built are live in
it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.answering.asker_identity import ReaderLookup
from bot.answering.explanations.explainer import Explanation, PageSummary
from bot.chat.actions import (
    LATER,
    ActionRejected,
    ActionTargets,
    ButtonQuestions,
    ExplainAction,
    interaction_named,
)
from bot.chat.adapters import ChatContext
from bot.domain.errors import BotError, InteractionUnknown
from bot.domain.interactions import Interaction
from bot.domain.markdown import clip, split
from bot.domain.messages import Message
from bot.domain.texts import join_texts, tr
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher, modal
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.payloads.actions import ASK_PERSON, MORE, OPTION, WHY, WHY_VIEW
from bot.platforms.slack.payloads.events import is_command
from bot.platforms.slack.payloads.markup import bold, escaped
from bot.platforms.slack.payloads.response_urls import ResponseUrls
from bot.platforms.slack.rendering import SECTION_LIMIT, Block, context, mrkdwn_link, section

# Slack's limits for a modal: characters of the title, blocks.
_TITLE_LIMIT = 24
_MOST_BLOCKS = 100
ONE_MOMENT = tr("One moment, I'm looking it up \u2026")


def explanation_modal(explanation: Explanation) -> Mapping[str, object]:
    """Return the modal of an explanation."""
    title, blocks = clip(explanation.title, _TITLE_LIMIT), tuple(_blocks(explanation))
    return modal(WHY_VIEW, title, blocks[:_MOST_BLOCKS])


def sentence_modal(sentence: str) -> Mapping[str, object]:
    """Return a modal with one sentence that says why there is no explanation."""
    return modal(WHY_VIEW, tr("Why"), (section(escaped(sentence)),))


def _blocks(explanation: Explanation) -> Iterator[Block]:
    if explanation.question:
        yield section(f"> {escaped(explanation.question)}")
    for step in explanation.paragraphs:
        yield from _sections(bold(clip(step.label, 80)), step.text)
    if explanation.pages:
        yield from _pages(explanation.pages)
    if explanation.left_out:
        yield context(escaped(explanation.left_out))


def _sections(heading: str, text: str) -> Iterator[Block]:
    """Yield the sections of a step, split at Slack's limit."""
    room = SECTION_LIMIT - len(heading) - 1
    first, *rest = split(text, room, lambda part: len(escaped(part)))
    yield section(join_texts("\n", (heading, escaped(first))))
    yield from (section(escaped(part)) for part in rest)


def _pages(pages: Sequence[PageSummary]) -> Iterator[Block]:
    yield section(tr("*Pages I read*"))
    for page in pages:
        link = mrkdwn_link(page.url, page.label)
        yield section(join_texts("", ("\u2022 ", link, ", ", escaped(page.found))))


_SOON_SECONDS = 0.8
"""After this time a waiting modal is opened, before the trigger expires."""

_NOTHING = tr("There is nothing to explain: the question is no longer here.")

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


async def _modal_of(explaining: Coroutine[Any, Any, Explanation], unknown: str) -> Any:  # noqa: ANN401
    try:
        return explanation_modal(await explaining)
    except InteractionUnknown:
        return sentence_modal(unknown)
    except BotError as error:
        log.warning("slack.why_failed", error=type(error).__name__, why=str(error))
        return sentence_modal(LATER)


_OPTION_ACTION = re.compile(rf"^{OPTION}:\d+$")
_ASKER_ONLY = tr("Only the asker can see this. Ask me yourself to get what you can read.")


class AnswerButtons:
    """Handles the buttons below a reply. Implements `Listener`.

    They explain it, turn a press into a message of its user, once per question, or show askers
    their private answer, anew at each press.
    """

    def __init__(
        self,
        channel: SlackChannel,
        context: ChatContext,
        targets: ActionTargets,
        readers: ReaderLookup,
        presses: PressDispatcher,
    ) -> None:
        self._channel = channel
        self._private_answers = context.private_answers
        self._targets = targets
        self._readers = readers
        self._presses = presses
        self._explain_action = ExplainAction(context.explainer, context.tenant, readers)
        self._modals = ExplanationModals(channel.client)
        self._questions = ButtonQuestions(
            interactions=context.interactions,
            inbox=context.inbox,
            visibility=self._explain_action.visibility,
        )

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, WHY, self._explain)
        self._presses.on(bolt, ASK_PERSON, self._ask_person)
        self._presses.on(bolt, _OPTION_ACTION, self._choose)
        self._presses.on(bolt, MORE, self._show_private_answer)

    async def _explain(self, press: Press) -> None:
        interaction = await self._acted_on(press, press.value)
        explaining = self._explain_action.explain(interaction, press.user)
        self._presses.open_modal(press, self._modals.show(press.trigger_id, explaining))

    async def _ask_person(self, press: Press) -> None:
        asked = await self._acted_on(press, press.value)
        reply_to = reply_to_press(self._channel.response_urls, asked.message, press)
        await self._questions.ask_person(asked, press.presser.person, reply_to=reply_to)

    async def _choose(self, press: Press) -> None:
        value, _, number = press.value.rpartition(":")
        asked = await self._acted_on(press, value)
        reply_to = reply_to_press(self._channel.response_urls, asked.message, press)
        await self._questions.choose(asked, number, press.presser.person, reply_to=reply_to)

    async def _acted_on(self, press: Press, value: str) -> Interaction:
        return await self._targets.acted_on(interaction_named(value), press.presser)

    async def _show_private_answer(self, press: Press) -> None:
        interaction = await self._targets.seen(interaction_named(press.value), press.presser)
        message = interaction.message
        if message.author.id != press.user:
            raise ActionRejected(_ASKER_ONLY)
        reader = await self._readers.of_asker(message)
        found = await self._private_answers.of(interaction, reader)
        if found.reply is None:
            raise ActionRejected(found.why_not)
        whispering = self._channel.private_replies.whisper(message, found.reply)
        self._channel.background.run(whispering, what="fuller answer")


def reply_to_press(urls: ResponseUrls, question: Message, press: Press) -> str:
    """Return a press's ``reply_to``: its response URL if the question came by command, else ""."""
    return urls.reply_to(press.response_url) if is_command(question) else ""
