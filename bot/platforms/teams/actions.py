"""Handle what people do with an answer: buttons, thumbs, reactions, and dialogs that explain it.

Only links that our code built are clickable in the card of an explanation, which is shown in a
dialog: Teams can show nothing else to one person alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import structlog

from bot.answering.explanations.explainer import Explanation, PageSummary
from bot.chat.actions import (
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
    REASON_LABELS,
    ChatVotes,
    Reaction,
    can_be_rated,
)
from bot.domain.interactions import LONGEST_COMMENT, REASONS, Interaction, PostedRef, Vote
from bot.domain.markdown import clip
from bot.domain.messages import Message, Thread
from bot.domain.texts import join_texts, on_texts, tr
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.messages.replies import REPLY, WHOLE, PostedActivities
from bot.platforms.teams.payloads.actions import (
    ASK_PERSON,
    CHOOSE_OPTION,
    EMPTY_ANSWER,
    SHOW_WHY,
    Press,
    acting_user_of,
)
from bot.platforms.teams.payloads.activity import (
    Body,
    Json,
    conversation_of,
    is_from_bot,
    objects_at,
    person_of,
    read_reference,
    reference_of,
    sent_at,
    text_at,
    thread_id_of,
)
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

log = structlog.get_logger(__name__)

_TITLE_LENGTH = 60
_HEADING_LENGTH = 80
_STEP_LENGTH = 2_000
_CUT_NOTE = tr("There is more, but it doesn't fit here.")


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
    for step in explanation.paragraphs:
        yield _heading(step.label)
        yield _paragraph(card_plain(clip(step.text, _STEP_LENGTH)))
    if explanation.pages:
        yield _heading(tr("Pages I read"))
        yield from (_paragraph(_page(page)) for page in explanation.pages)
    if explanation.left_out:
        yield text_block(card_plain(explanation.left_out), isSubtle=True)


def _heading(label: str) -> Json:
    return text_block(card_plain(clip(label, _HEADING_LENGTH)), weight="Bolder")


def _paragraph(text: str) -> Json:
    return text_block(text, spacing="None")


def _page(page: PageSummary) -> str:
    label = card_plain(page.label)
    url = web_url(page.url)
    named = f"[{label}]({url})" if url else label
    return join_texts(", ", (named, card_plain(page.found)))


_REASON, _COMMENT = "reason", "comment"
_QUESTION = tr("Was anything wrong with the answer?")
_NOTHING_SENT = tr("You didn't select or write anything, so nothing was saved.")


@on_texts
def _without_ellipsis(label: str) -> str:
    return label.rstrip("\u2026")


def reason_form_of(interaction: Interaction) -> tuple[Sequence[Json], Sequence[Json]]:
    """Return the form's fields and submit button; both empty if the outcome can't be rated."""
    if not can_be_rated(interaction.outcome):
        return (), ()
    choices = [
        {"title": _without_ellipsis(label), "value": code} for code, label in REASON_LABELS.items()
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
    return (asked, said, hint), (submit_button(tr("Send"), SHOW_WHY, interaction.id),)


_PERSON_REQUESTED = tr("I've noted that you'd like to ask a person. The next step is shown below.")
_OPTION_CHOSEN = tr("I'm looking into your choice. The answer will be below.")


def reply_reference(asked: Message, press: Press) -> str:
    """Return a reference that addresses the presser, below the question.

    A press itself is no message that could be replied to.
    """
    question, pressed = read_reference(asked.reply_to), read_reference(reference_of(press.body))
    there = {key: question[key] for key in ("activityId", "conversation") if key in question}
    beside = {key: value for key, value in pressed.items() if key != "activityId"}
    return json.dumps({**beside, **there})


_MOST_SEARCHED = 20
"""Number of messages of a conversation that are searched."""


class AnswerLookup:
    """Finds the answer that a rated message belongs to. Raises StoreUnavailable."""

    def __init__(self, targets: ActionTargets, posted: PostedActivities) -> None:
        self._targets = targets
        self._interactions = targets.interactions
        self._tenant = targets.tenant
        self._posted = posted

    async def rated(self, body: Body) -> Interaction | None:
        """Return the rated answer; None if the message is no answer of ours in the conversation."""
        channel, activity_id = conversation_of(body), text_at(body, "replyToId")
        if not (channel and activity_id):
            return None
        ref = PostedRef(channel, activity_id)
        found = await self._interactions.find_posted(self._tenant, ref)
        if found is None:
            found = await self._part_of(channel, activity_id)
        there = found is not None and self._targets.is_here(found.message, acting_user_of(body))
        return found if there else None

    async def _part_of(self, channel: str, activity_id: str) -> Interaction | None:
        """Return the answer that the activity is a part of; None for notices by people."""
        named = await self._posted.question_of(self._tenant, channel, activity_id)
        found = await self._interactions.get(named) if named else None
        if found is None:
            return None
        for name in (WHOLE, REPLY):
            if activity_id in await self._posted.ids_of(found.message, name, several=True):
                return found
        return None

    async def newest_of(self, body: Body) -> Interaction | None:
        """Return the newest answer in the thread that can be rated and that the sender asked for.

        Microsoft's playground needs this: it does not send the id of the rated message.
        """
        there = Thread("teams", self._tenant, conversation_of(body), thread_id_of(body))
        asked = await self._interactions.in_thread(there, _MOST_SEARCHED)
        person = person_of(body).id
        own = [each for each in asked if each.message.author.id == person]
        return next((each for each in reversed(own) if can_be_rated(each.outcome)), None)


_THUMB_VOTES: Mapping[str, Vote] = {"like": "up", "dislike": "down"}
_COMMENT_KEY = "feedbackText"


class AnswerListener:
    """Handles the buttons below an answer, thumbs and reactions. Implements `Listener`.

    The buttons explain it, take what was wrong with it as a thumb down, and turn a press into a
    message of its presser, once per question. Teams expects ``{}`` for a thumb whether or not the
    vote was stored. It sends only reactions to the bot's own messages.
    """

    def __init__(
        self,
        context: ChatContext,
        posted: PostedActivities,
        explain: ExplainAction,
        targets: ActionTargets,
    ) -> None:
        self._answers = AnswerLookup(targets, posted)
        self._explain = explain
        self._votes = ChatVotes(targets, context.notes)
        self._questions = ButtonQuestions(
            interactions=context.interactions, inbox=context.inbox, visibility=explain.visibility
        )
        self._targets = targets

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_dialog(SHOW_WHY, self._open, self._send)
        dispatch.on_press(ASK_PERSON, self._ask_person)
        dispatch.on_press(CHOOSE_OPTION, self._choose)
        dispatch.on_invoke("message/submitAction", self._take_thumb)
        dispatch.on_activity("messageReaction", self._take_reaction)

    async def _open(self, press: Press) -> Json:
        interaction = await self._targets.acted_on(press.about, press.presser)
        explanation = await self._explain.explain(interaction, press.person.id)
        shown = explanation_card(explanation, *reason_form_of(interaction))
        return dialog(explanation_title(explanation), shown, height="large")

    async def _send(self, press: Press) -> Json:
        """Store the reason or comment. Raises ActionRejected, StoreUnavailable, DeliveryFailed."""
        interaction = await self._targets.acted_on(press.about, press.presser)
        reason, comment = text_at(press.data, _REASON), text_at(press.data, _COMMENT).strip()
        if not comment and reason not in REASONS:
            return dialog_text(_NOTHING_SENT)
        known = reason if reason in REASONS else None
        await self._votes.say_why(interaction.id, press.person.id, reason=known, comment=comment)
        return dialog_text(COMMENT_THANKS)

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

    async def _take_thumb(self, body: Body) -> Json:
        vote = _THUMB_VOTES.get(text_at(body, "value", "actionValue", "reaction"))
        if vote is None:
            return EMPTY_ANSWER
        presser = acting_user_of(body)
        interaction = await self._rated(body)
        if interaction is None:
            log.info("teams.feedback_unmatched")
        elif not await self._targets.may_act(interaction.message, presser):
            log.info("teams.feedback_of_nobody", interaction_id=interaction.id)
        else:
            try:
                person_id = presser.person.id
                await self._votes.vote(interaction.id, person_id, vote, comment=comment_in(body))
            except ActionRejected as error:
                log.info("teams.feedback_not_counted", why=str(error.__cause__))
        return EMPTY_ANSWER

    async def _rated(self, body: Body) -> Interaction | None:
        if text_at(body, "replyToId"):
            return await self._answers.rated(body)
        return await self._answers.newest_of(body)

    async def _take_reaction(self, body: Body) -> bool:
        reaction, presser = reaction_in(body), acting_user_of(body)
        if reaction is None or not presser.person.id or is_from_bot(body):
            return False
        interaction = await self._answers.rated(body)
        if interaction is None:
            return False
        await self._votes.react(interaction, presser, reaction)
        return True


def comment_in(body: Body) -> str:
    """Return the comment sent with a thumb, cut at the stored length; "" if there is none.

    Teams sends JSON in a string, the playground the plain text; the comment "5" stays "5".
    """
    given = text_at(body, "value", "actionValue", "feedback")
    try:
        parsed = json.loads(given)
    except (ValueError, RecursionError):
        parsed = None
    said = text_at(parsed, _COMMENT_KEY) if isinstance(parsed, dict) else given
    return said.strip()[:LONGEST_COMMENT]


_REACTION_VOTES: Mapping[str, Vote] = {"like": "up", "sad": "down", "angry": "down"}
"""Votes by reaction; Teams has no thumb-down reaction, and other reactions are not votes."""


def reaction_in(body: Body) -> Reaction | None:
    """Return a person's new reaction, or None if it is not a vote.

    Changing a reaction adds one and removes another in the same activity.
    """
    added, removed = _votes_in(body, "reactionsAdded"), _votes_in(body, "reactionsRemoved")
    if added:
        return Reaction(_reacted_at(body), given=added[-1])
    return Reaction(_reacted_at(body), taken=frozenset(removed)) if removed else None


def _votes_in(body: Body, key: str) -> tuple[Vote, ...]:
    kinds = (text_at(each, "type") for each in objects_at(body, key))
    return tuple(_REACTION_VOTES[kind] for kind in kinds if kind in _REACTION_VOTES)


def _reacted_at(body: Body) -> str:
    """Return the time of the reaction in seconds; now if the activity has none."""
    return sent_at(body) or f"{datetime.now(UTC).timestamp():.6f}"
