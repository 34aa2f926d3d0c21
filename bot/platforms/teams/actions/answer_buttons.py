"""Handle the buttons below an answer: why it was given, ask a person, choose an option.

Only links that our code built are clickable in the card of an explanation, which is shown in a
dialog: Teams can show nothing else to one person alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from bot.answering.explanations.explainer import Explanation, PageSummary
from bot.chat.actions import (
    GONE,
    NOTHING_TO_RATE,
    ActionRejected,
    ActionTargets,
    ButtonQuestions,
    ExplainAction,
)
from bot.chat.adapters import ChatContext
from bot.chat.response_view import web_url
from bot.chat.votes import (
    COMMENT_QUESTION,
    COMMENT_READERS,
    COMMENT_THANKS,
    COMMENT_TOO_LONG,
    REASON_LABELS,
    AnswerVotes,
    can_be_rated,
)
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import LONGEST_COMMENT, REASONS
from bot.domain.interactions import Interaction
from bot.domain.messages import InteractionId, Message
from bot.domain.text.markdown import clip
from bot.platforms.teams.payloads.actions import ASK_PERSON, CHOOSE_OPTION, SHOW_WHY, Press
from bot.platforms.teams.payloads.activity import Json, read_reference, reference_of, text_at
from bot.platforms.teams.rendering.cards import (
    card,
    dialog,
    dialog_text,
    submit_button,
    text_answer,
    text_block,
    text_input,
)
from bot.platforms.teams.rendering.text import CONTENT_BUDGET, card_plain, size
from bot.platforms.teams.transport.dispatch import Dispatch

_TITLE_LENGTH = 60
_HEADING_LENGTH = 80
_PAGE_LENGTH = 150
_STEP_LENGTH = 2_000
_CUT_NOTE = "There is more, but not enough room for it here."


def explanation_title(explanation: Explanation) -> str:
    """Return the title of the dialog as plain text."""
    return clip(explanation.title, _TITLE_LENGTH)


def explanation_card(
    explanation: Explanation, form: Sequence[Json] = (), actions: Sequence[Json] = ()
) -> Json:
    """Return the card of an explanation within Teams' size limit, with a feedback form below it."""
    room = CONTENT_BUDGET - size(card([text_block(_CUT_NOTE), *form], actions))
    return card([*_fitting_blocks(_blocks(explanation), room), *form], actions)


def _fitting_blocks(blocks: Iterable[Json], room: int) -> Sequence[Json]:
    kept: list[Json] = []
    for block in blocks:
        if size([*kept, block]) > room:
            return [*kept, text_block(_CUT_NOTE, isSubtle=True)]
        kept.append(block)
    return kept


def _blocks(explanation: Explanation) -> Iterator[Json]:
    if explanation.question:
        yield text_block(card_plain(explanation.question), isSubtle=True)
    for step in explanation.steps:
        yield _heading(step.label)
        yield _paragraph(card_plain(clip(step.text, _STEP_LENGTH)))
    if explanation.sure is not None:
        yield _heading("How sure")
        sure = explanation.sure
        stated = f"{sure.words}: {sure.told}, and an answer needs {sure.needed_told}"
        yield _paragraph(card_plain(stated))
    if explanation.pages:
        yield _heading("Pages I read")
        yield from (_paragraph(_page(page)) for page in explanation.pages)
    if explanation.left_out:
        yield text_block(card_plain(explanation.left_out), isSubtle=True)


def _heading(label: str) -> Json:
    return text_block(card_plain(clip(label, _HEADING_LENGTH)), weight="Bolder")


def _paragraph(text: str) -> Json:
    return text_block(text, spacing="None")


def _page(page: PageSummary) -> str:
    where = f" \u203a {page.section}" if page.section else ""
    label = card_plain(clip(f"{page.title}{where}", _PAGE_LENGTH))
    url = web_url(page.url)
    return f"{f'[{label}]({url})' if url else label}, {card_plain(page.found)}"


_REASON, _COMMENT = "reason", "comment"
_QUESTION = "Was something wrong with it?"
_NOTHING_SENT = "Nothing was chosen or written, so I've noted nothing."


def reason_form_of(interaction: Interaction) -> tuple[Sequence[Json], Sequence[Json]]:
    """Return the form's fields and submit button; both empty if the outcome can't be rated."""
    if not can_be_rated(interaction.outcome):
        return (), ()
    choices = [
        {"title": label.rstrip("\u2026"), "value": code} for code, label in REASON_LABELS.items()
    ]
    asked = {
        "type": "Input.ChoiceSet",
        "id": _REASON,
        "label": _QUESTION,
        "style": "expanded",
        "separator": True,
        "choices": choices,
    }
    said = text_input(_COMMENT, COMMENT_QUESTION, lines=True, most=LONGEST_COMMENT)
    hint = text_block(COMMENT_READERS, isSubtle=True, size="Small")
    return (asked, said, hint), (submit_button("Send", SHOW_WHY, interaction.id),)


_PERSON_REQUESTED = (
    "I've noted that you'd like a person to be asked. What comes of it is said below."
)
_OPTION_CHOSEN = "I'm looking into what you chose. What I find is said below."


class AnswerButtons:
    """Handles the buttons below an answer. Implements `Listener`.

    They explain it, take what was wrong with it as a thumb down, and turn a press into a message of
    its presser, once per question.
    """

    def __init__(
        self, context: ChatContext, explain: ExplainAction, targets: ActionTargets
    ) -> None:
        self._tenant = context.tenant
        self._explain = explain
        self._votes = AnswerVotes(context.interactions)
        self._questions = ButtonQuestions(interactions=context.interactions, inbox=context.inbox)
        self._targets = targets

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_dialog(SHOW_WHY, self._open, self._send)
        dispatch.on_press(ASK_PERSON, self._ask_person)
        dispatch.on_press(CHOOSE_OPTION, self._choose)

    async def _open(self, press: Press) -> Json:
        interaction = await self._targets.acted_on(press.about, press.presser)
        try:
            explanation = await self._explain.explain(interaction, press.person.id)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        shown = explanation_card(explanation, *reason_form_of(interaction))
        return dialog(explanation_title(explanation), shown, height="large")

    async def _send(self, press: Press) -> Json:
        """Store the reason or comment. Raises ActionRejected, StoreUnavailable, DeliveryFailed."""
        interaction = await self._targets.acted_on(press.about, press.presser)
        reason, comment = text_at(press.data, _REASON), text_at(press.data, _COMMENT).strip()
        if not comment and reason not in REASONS:
            return dialog_text(_NOTHING_SENT)
        if len(comment) > LONGEST_COMMENT:
            raise ActionRejected(COMMENT_TOO_LONG)
        await self._keep(interaction.id, press.person.id, reason, comment)
        return dialog_text(COMMENT_THANKS)

    async def _keep(
        self, interaction_id: InteractionId, person_id: str, reason: str, comment: str
    ) -> None:
        known = reason if reason in REASONS else None
        try:
            await self._votes.say_why(
                self._tenant, interaction_id, person_id, reason=known, comment=comment
            )
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise ActionRejected(NOTHING_TO_RATE) from error

    async def _ask_person(self, press: Press) -> Json:
        asked = await self._targets.acted_on(press.about, press.presser)
        reply_to = reply_reference(asked.message, press)
        await self._questions.ask_person(asked, press.person, reply_to=reply_to)
        return text_answer(_PERSON_REQUESTED)

    async def _choose(self, press: Press) -> Json:
        asked = await self._targets.acted_on(press.about, press.presser)
        reply_to, number = reply_reference(asked.message, press), str(press.data.get("option"))
        await self._questions.choose(asked, number, press.person, reply_to=reply_to)
        return text_answer(_OPTION_CHOSEN)


def reply_reference(asked: Message, press: Press) -> str:
    """Return a reference that addresses the presser, below the question.

    A press itself is no message that could be replied to.
    """
    question, pressed = read_reference(asked.reply_to), read_reference(reference_of(press.body))
    there = {key: question[key] for key in ("activityId", "conversation") if key in question}
    beside = {key: value for key, value in pressed.items() if key != "activityId"}
    return json.dumps({**beside, **there})
