"""The modal in which an expert keeps the answer of a case for others, opened from its card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.chat.actions import ActionTargets, interaction_named
from bot.chat.answer_keeping import AnswerKeeping, KeepingForm
from bot.chat.response_view import reader_label
from bot.domain.markdown import clip
from bot.domain.messages import InteractionId
from bot.domain.texts import join_texts, tr
from bot.escalations.cards import CardActions
from bot.escalations.case_view import KEEP_LABEL
from bot.learning.answer_csv import day_of_text
from bot.learning.reviewed_answers import LONGEST_QUESTION, AnswerText
from bot.platforms.slack.actions.interactivity import (
    Press,
    PressDispatcher,
    input_block,
    modal,
    presser_in,
    selected_values,
    submit_modal,
    submitted_field,
    text_input,
    typed_value,
)
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.posting import language_of
from bot.platforms.slack.payloads.actions import CASE_KEEP, KEEP_FORM
from bot.platforms.slack.payloads.events import Event, id_at, object_at, text_at
from bot.platforms.slack.payloads.markup import escaped_label
from bot.platforms.slack.rendering import Block, plain_text, section
from rag.types import Principal

QUESTION, TEXT, VARIANTS, READERS, UNTIL = "question", "answer", "variants", "readers", "until"
_LONGEST_FIELD = 3_000
"""Slack's limit for the text of one field."""

_LONGEST_LABEL, _LONGEST_VALUE, _MOST_OPTIONS = 75, 150, 100
_MOST_NEAR = 3


def keep_modal(form: KeepingForm, case_id: InteractionId) -> Mapping[str, object]:
    """Return the modal with the draft of an answer."""
    return modal(
        KEEP_FORM, KEEP_LABEL, tuple(_blocks(form)), submit=form.send, private_metadata=case_id
    )


def _blocks(form: KeepingForm) -> Iterator[Block]:
    written = form.content
    question = {**text_input(LONGEST_QUESTION), "multiline": False}
    yield input_block(QUESTION, tr("Question"), _begun(question, written.question), form.hint)
    if form.near:
        named = [f"\u2022 {escaped_label(each)}" for each in form.near[:_MOST_NEAR]]
        yield section(join_texts("\n", [tr("Similar answers:"), *named]))
    yield input_block(TEXT, tr("Answer"), _begun(text_input(_LONGEST_FIELD), written.text))
    variants = _begun(text_input(_LONGEST_FIELD), "\n".join(written.variants))
    yield input_block(VARIANTS, tr("Other ways to ask it, one per line"), variants, optional=True)
    yield input_block(READERS, tr("Who can read it"), _readers_menu(form))
    until = written.valid_until
    date = {"initial_date": until.date().isoformat()} if until else {}
    yield input_block(UNTIL, tr("Review again on"), {"type": "datepicker", **date})


def _begun(element: Block, text: str) -> Block:
    return {**element, "initial_value": text[:_LONGEST_FIELD]} if text else element


def _readers_menu(form: KeepingForm) -> Block:
    offered = [each for each in form.readers if len(each) <= _LONGEST_VALUE][:_MOST_OPTIONS]
    options = {
        each: {"text": plain_text(clip(reader_label(each), _LONGEST_LABEL)), "value": each}
        for each in offered
    }
    chosen = [option for each, option in options.items() if each in form.content.chosen]
    menu = {
        "type": "multi_static_select",
        "placeholder": plain_text(tr("Nobody")),
        "options": list(options.values()),
    }
    return {**menu, "initial_options": chosen} if chosen else menu


def written_in(view: Event) -> AnswerText:
    """Return what was submitted. Raises ActRefused for a date that is none."""
    return AnswerText(
        question=typed_value(view, QUESTION),
        text=typed_value(view, TEXT),
        variants=tuple(typed_value(view, VARIANTS).splitlines()),
        chosen=frozenset(map(Principal, selected_values(view, READERS))),
        valid_until=day_of_text(text_at(submitted_field(view, UNTIL), "selected_date")),
    )


class KeepButton:
    """Handles the button on a card that keeps its answer, and its modal. Implements `Listener`."""

    def __init__(
        self,
        keeping: AnswerKeeping,
        targets: ActionTargets,
        cards: CardActions,
        presses: PressDispatcher,
        client: SlackClient,
    ) -> None:
        self._keeping = keeping
        self._targets = targets
        self._cards = cards
        self._presses = presses
        self._client = client

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, CASE_KEEP, self._pressed)
        bolt.view(KEEP_FORM)(self._sent)

    async def _pressed(self, press: Press) -> None:
        case_id = interaction_named(press.value)
        expert = await self._targets.colleague_of(press.presser)
        await self._cards.place(case_id, press.channel)
        form = await self._keeping.form("slack", case_id, expert, _LONGEST_FIELD)
        await self._client.views_open(press.trigger_id, keep_modal(form, case_id))

    async def _sent(self, ack: AsyncAck, body: dict[str, object], view: dict[str, object]) -> None:
        kept = modal(KEEP_FORM, KEEP_LABEL, (section(self._keeping.outcome),))
        keeping, language = self._keep(body, view), language_of(self._client.web)
        await submit_modal(ack, QUESTION, keeping, then=kept, language=language)

    async def _keep(self, body: dict[str, object], view: dict[str, object]) -> None:
        case_id = interaction_named(text_at(view, "private_metadata"))
        presser = presser_in(id_at(object_at(body, "user"), "id"), "")
        expert = await self._targets.colleague_of(presser)
        await self._keeping.keep("slack", case_id, expert, written_in(view))
