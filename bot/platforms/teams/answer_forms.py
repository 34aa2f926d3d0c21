"""The dialog in which an expert keeps the answer of a case for others, opened from its card."""

from __future__ import annotations

from collections.abc import Iterator

from bot.chat.actions import ActionTargets
from bot.chat.answer_keeping import AnswerKeeping, KeepingForm
from bot.chat.response_view import reader_label
from bot.domain.messages import InteractionId
from bot.domain.texts import tr
from bot.escalations.cards import CardActions
from bot.escalations.case_view import KEEP_LABEL
from bot.learning.answer_csv import day_of_text
from bot.learning.reviewed_answers import LONGEST_QUESTION, AnswerText
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.payloads.actions import KEEP_ANSWER, Press
from bot.platforms.teams.payloads.activity import Body, Json, text_at
from bot.platforms.teams.rendering.cards import (
    card,
    dialog,
    dialog_text,
    submit_button,
    text_block,
    text_input,
)
from bot.platforms.teams.rendering.text import card_plain
from rag.types import Principal

QUESTION, TEXT, VARIANTS, READERS, UNTIL = "question", "answer", "variants", "readers", "until"
_LONGEST_TEXT = 4_000
_MOST_NEAR = 3


def keep_card(form: KeepingForm, case_id: InteractionId) -> Json:
    """Return the card of the dialog, with the draft of an answer."""
    return card(list(_fields(form)), [submit_button(form.send, KEEP_ANSWER, case_id)])


def _fields(form: KeepingForm) -> Iterator[Json]:
    written = form.content
    question = text_input(QUESTION, tr("Question"), most=LONGEST_QUESTION, required=True)
    yield {**question, "value": written.question}
    yield text_block(form.hint, isSubtle=True)
    if form.near:
        yield text_block(tr("Similar answers:"))
        yield from (text_block(card_plain(each)) for each in form.near[:_MOST_NEAR])
    text = text_input(TEXT, tr("Answer"), lines=True, most=_LONGEST_TEXT, required=True)
    yield {**text, "value": written.text}
    variants = text_input(VARIANTS, tr("Other ways to ask it, one per line"), lines=True)
    yield {**variants, "value": "\n".join(written.variants)}
    yield {
        "type": "Input.ChoiceSet",
        "id": READERS,
        "label": tr("Who can read it"),
        "isMultiSelect": True,
        "choices": [{"title": reader_label(each), "value": each} for each in form.readers],
        "value": ",".join(each for each in form.readers if each in written.chosen),
    }
    until = written.valid_until.date().isoformat() if written.valid_until else ""
    yield {"type": "Input.Date", "id": UNTIL, "label": tr("Review again on"), "value": until}


def written_in(data: Body) -> AnswerText:
    """Return what was submitted. Raises ActRefused for a date that is none."""
    chosen = filter(None, text_at(data, READERS).split(","))
    return AnswerText(
        question=text_at(data, QUESTION),
        text=text_at(data, TEXT),
        variants=tuple(text_at(data, VARIANTS).splitlines()),
        chosen=frozenset(map(Principal, chosen)),
        valid_until=day_of_text(text_at(data, UNTIL)),
    )


class KeepButton:
    """Handles the button on a card that keeps its answer, and its dialog. Implements `Listener`."""

    def __init__(self, keeping: AnswerKeeping, targets: ActionTargets, cards: CardActions) -> None:
        self._keeping = keeping
        self._targets = targets
        self._cards = cards

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_dialog(KEEP_ANSWER, self._open, self._send)

    async def _open(self, press: Press) -> Json:
        expert = await self._targets.colleague_of(press.presser)
        await self._cards.place(press.about, press.channel)
        form = await self._keeping.form("teams", press.about, expert, _LONGEST_TEXT)
        return dialog(KEEP_LABEL, keep_card(form, press.about), height="large")

    async def _send(self, press: Press) -> Json:
        expert = await self._targets.colleague_of(press.presser)
        await self._cards.place(press.about, press.channel)
        await self._keeping.keep("teams", press.about, expert, written_in(press.data))
        return dialog_text(self._keeping.outcome)
