"""Record feedback on answers: thumb buttons, thumb reactions, and why an answer did not help.

The private metadata of the comment modal holds its interaction, and the response URL of the
question that it was opened from.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.chat.actions import (
    NOTHING_TO_RATE,
    ActionRejected,
    ActionTargets,
    interaction_named,
)
from bot.chat.adapters import ChatContext
from bot.chat.votes import (
    COMMENT_QUESTION,
    COMMENT_READERS,
    COMMENT_THANKS,
    REASON_LABELS,
    ChatVotes,
    Reaction,
)
from bot.domain.concurrency import BackgroundTasks
from bot.domain.interactions import LONGEST_COMMENT, REASONS, Interaction, PostedRef, Reason, Vote
from bot.domain.messages import InteractionId, Message
from bot.domain.texts import tr
from bot.platforms.slack.actions.interactivity import (
    Press,
    PressDispatcher,
    input_block,
    modal,
    modal_metadata,
    presser_in,
    submit_modal,
    text_input,
    typed_value,
)
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import NeverPermitted
from bot.platforms.slack.client.posting import language_of
from bot.platforms.slack.dispatch import ACCEPT_SECONDS
from bot.platforms.slack.payloads.actions import ASK_PERSON, FEEDBACK, REASON, REASON_FORM
from bot.platforms.slack.payloads.events import (
    BotIds,
    Event,
    id_at,
    is_command,
    object_at,
    text_at,
    ts_at,
)
from bot.platforms.slack.payloads.metadata import Place, interaction_answered_by
from bot.platforms.slack.rendering import (
    Block,
    MessageForm,
    MessageForms,
    actions,
    button,
    section,
)
from rag.types import BoundedDict

log = structlog.get_logger(__name__)

_OTHER: Reason = "other"
_MORE_WORDS = "more"
_COMMENT = "comment"
"""The action id of the comment field, and the id of its block."""

_REASON_ACTION = re.compile(rf"^{REASON}:\w+$")

_QUESTION = tr("Thanks for the feedback. What was wrong with the answer? Only you see this.")


def reason_question(interaction_id: InteractionId) -> MessageForms:
    """Return the question why an answer did not help, with a button to ask a person."""
    reasons = [_reason_button(label, code, interaction_id) for code, label in REASON_LABELS.items()]
    blocks = (section(_QUESTION), actions(reasons), actions([_person_button(interaction_id)]))
    return (MessageForm(_QUESTION, blocks), MessageForm(_QUESTION))


def reason_noted(interaction_id: InteractionId, reason: str) -> MessageForm:
    """Return the message that replaces the question once a reason is given."""
    label = next((label for code, label in REASON_LABELS.items() if code == reason), reason)
    text = tr("Thank you. Saved: \u201c{reason}\u201d.", reason=label)
    more = _reason_button(tr("Say more\u2026"), _MORE_WORDS, interaction_id)
    return MessageForm(text, (section(text), actions([more, _person_button(interaction_id)])))


def comment_thanks(interaction_id: InteractionId) -> MessageForm:
    """Return the message that replaces the question once a comment is given."""
    return MessageForm(
        COMMENT_THANKS, (section(COMMENT_THANKS), actions([_person_button(interaction_id)]))
    )


def comment_modal(about: str) -> Mapping[str, object]:
    """Return the modal for a free-text comment; ``about`` is returned with its submission."""
    question = input_block(_COMMENT, COMMENT_QUESTION, text_input(LONGEST_COMMENT), COMMENT_READERS)
    return modal(
        REASON_FORM,
        tr("What was wrong?"),
        [question],
        submit=tr("Send"),
        private_metadata=about,
    )


def _reason_button(label: str, code: str, interaction_id: InteractionId) -> Block:
    return button(label, f"{REASON}:{code}", f"{code}:{interaction_id}")


def _person_button(interaction_id: InteractionId) -> Block:
    return button(tr("Ask a person"), ASK_PERSON, interaction_id)


@dataclass(frozen=True, slots=True)
class FeedbackReasons:
    """Asks one person privately why an answer did not help. Implements `Listener`."""

    votes: ChatVotes
    targets: ActionTargets
    presses: PressDispatcher
    client: SlackClient
    background: BackgroundTasks

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, _REASON_ACTION, self._give)
        bolt.view(REASON_FORM)(self._submit)

    def ask(self, message: Message, user: str, *, response_url: str | None = None) -> None:
        """Ask one person, in the background, what was wrong with the answer to a question.

        They are asked in its thread or, as a command has none, at a press's response URL.
        """
        forms = reason_question(message.interaction_id)
        if response_url is not None and is_command(message):
            asking = self.client.respond(response_url, forms)
        else:
            place = Place(message.thread.channel, message.thread.id, since=message.thread.id)
            asking = self.client.chat_post_ephemeral(place, user, forms, kind="reason question")
        self.background.run(asking, what="asked for a reason")

    async def _give(self, press: Press) -> None:
        code, _, value = press.value.partition(":")
        interaction_id = interaction_named(value)
        await self.targets.acted_on(interaction_id, press.presser)
        if code in REASONS and code != _OTHER:
            await self.votes.say_why(interaction_id, press.user, reason=code)
            self._show(press.response_url, reason_noted(interaction_id, code))
        elif code in {_OTHER, _MORE_WORDS}:
            about = {"id": interaction_id, "channel": press.channel, "reason": code}
            about["response_url"] = press.response_url
            view = comment_modal(json.dumps(about))
            self.presses.open_modal(press, self.client.views_open(press.trigger_id, view))
        else:
            log.info("slack.reason_unknown", reason=code[:40])

    async def _submit(self, ack: AsyncAck, body: dict[str, object], view: Event) -> None:
        metadata = modal_metadata(view)
        about = {key: text_at(metadata, key) for key in metadata}
        comment = typed_value(view, _COMMENT)
        storing = self._store_comment(about, id_at(object_at(body, "user"), "id"), comment)
        if await submit_modal(ack, _COMMENT, storing, language=language_of(self.client.web)):
            self._show(about.get("response_url", ""), comment_thanks(InteractionId(about["id"])))

    async def _store_comment(self, about: Mapping[str, str], user: str, comment: str) -> None:
        interaction_id = interaction_named(about.get("id", ""))
        await self.targets.acted_on(interaction_id, presser_in(user, about.get("channel", "")))
        reason = _OTHER if about.get("reason") == _OTHER else None
        await self.votes.say_why(interaction_id, user, reason=reason, comment=comment)

    def _show(self, url: str, form: MessageForm) -> None:
        """Replace the question with the outcome, in the background; it may be lost."""
        replacing = self.client.respond(url, (form,), replace=True)
        self.background.run(replacing, what="reason noted")


_REMEMBERED = 1_000


class AnswerLookup:
    """Resolves a message to the interaction that it answers: by the record, or by metadata.

    A long answer has several messages, and the record stores the last alone: for the others Slack
    is asked once per message which question they answer.
    """

    def __init__(self, context: ChatContext, client: SlackClient) -> None:
        self._interactions = context.interactions
        self._tenant = context.tenant
        self._client = client
        self._found = BoundedDict[tuple[str, str], InteractionId | None](_REMEMBERED)

    async def known(self, channel: str, ts: str) -> Interaction | None:
        """Return the interaction, if it is found without a call to Slack."""
        posted = await self._interactions.find_posted(self._tenant, PostedRef(channel, ts))
        if posted is not None and posted.message.thread.platform == "slack":
            return posted
        known = self._found.get((channel, ts))
        return await self._interactions.get(known) if known else None

    async def look_up(self, channel: str, ts: str) -> InteractionId | None:
        """Return the interaction that a message answers, None for any other message.

        Raises DeliveryFailed.
        """
        if (channel, ts) not in self._found:
            self._found[channel, ts] = await self._interaction_at(channel, ts)
        return self._found[channel, ts]

    async def _interaction_at(self, channel: str, ts: str) -> InteractionId | None:
        try:
            page = await self._client.conversations_replies(channel, ts, oldest=ts, latest=ts)
        except NeverPermitted:
            return None
        listed = page.get("messages") or ()
        found = (each for each in listed if isinstance(each, Mapping) and each.get("ts") == ts)
        return next((interaction_answered_by(each) for each in found), None)


_THANKS = tr("Thanks, glad it helped.")
_BUTTON_VOTES: Mapping[str, Vote] = {"up": "up", "down": "down"}
_REACTION_VOTES: Mapping[str, Vote] = {
    "+1": "up",
    "thumbsup": "up",
    "-1": "down",
    "thumbsdown": "down",
}


@dataclass(frozen=True, slots=True)
class ThumbReaction:
    """A thumb reaction on a message of the bot, added or removed at ``at``, which is a ts."""

    user: str
    channel: str
    ts: str
    vote: Vote
    at: str


class FeedbackListener:
    """Records thumb buttons and thumb reactions as votes. Implements `Listener`.

    A new vote replaces the person's earlier one, and removing a reaction removes its vote. A
    reaction to a recorded message is counted before Slack is acknowledged; another part of a long
    answer is looked up afterwards. Slack sends events twice and in any order, so each person's last
    reaction is stored: an older event of theirs changes nothing.
    """

    def __init__(
        self,
        channel: SlackChannel,
        context: ChatContext,
        targets: ActionTargets,
        answers: AnswerLookup,
        presses: PressDispatcher,
    ) -> None:
        self._identity = channel.identity
        self._background = channel.background
        self._interactions = context.interactions
        self._targets = targets
        self._answers = answers
        self._presses = presses
        self._votes = votes = ChatVotes(targets, context.notes)
        self._reasons = FeedbackReasons(votes, targets, presses, channel.client, channel.background)

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, FEEDBACK, self._vote)
        self._reasons.register(bolt)
        bolt.event("reaction_added")(self._reacted)
        bolt.event("reaction_removed")(self._reacted)

    async def _vote(self, press: Press) -> None:
        named, _, value = press.value.partition(":")
        vote, interaction_id = _BUTTON_VOTES.get(named), interaction_named(value)
        if vote is None:
            raise ActionRejected(NOTHING_TO_RATE)
        interaction = await self._targets.acted_on(interaction_id, press.presser)
        await self._votes.vote(interaction_id, press.user, vote)
        if vote == "up":
            self._presses.tell(press, _THANKS)
        else:
            self._reasons.ask(interaction.message, press.user, response_url=press.response_url)

    async def _reacted(self, body: dict[str, object], event: dict[str, object]) -> None:
        thumb = parse_thumb(event, self._identity.ids(body))
        given = text_at(event, "type") == "reaction_added"
        if thumb is None:
            return
        async with asyncio.timeout(ACCEPT_SECONDS):
            interaction = await self._answers.known(thumb.channel, thumb.ts)
            if interaction is not None:
                await self._count(thumb, interaction, given=given)
                return
        self._background.run(self._look_up(thumb, given=given), what="part of an answer")

    async def _look_up(self, thumb: ThumbReaction, *, given: bool) -> None:
        named = await self._answers.look_up(thumb.channel, thumb.ts)
        interaction = await self._interactions.get(named) if named else None
        if interaction is not None and interaction.message.thread.channel == thumb.channel:
            await self._count(thumb, interaction, given=given)

    async def _count(self, thumb: ThumbReaction, interaction: Interaction, *, given: bool) -> None:
        taken = frozenset() if given else frozenset({thumb.vote})
        reaction = Reaction(thumb.at, given=thumb.vote if given else None, taken=taken)
        presser = presser_in(thumb.user, thumb.channel)
        if await self._votes.react(interaction, presser, reaction) == "down":
            self._reasons.ask(interaction.message, thumb.user)


def parse_thumb(event: Event, us: BotIds) -> ThumbReaction | None:
    """Return a person's thumb on a message of the bot, None for any other reaction."""
    item = object_at(event, "item")
    vote = _REACTION_VOTES.get(text_at(event, "reaction").partition("::")[0])
    user, channel, ts = id_at(event, "user"), id_at(item, "channel"), ts_at(item, "ts")
    ours = text_at(event, "item_user") in us.users and user not in us.users
    at = ts_at(event, "event_ts")
    if vote is None or not (user and channel and ts and at and ours):
        return None
    return ThumbReaction(user, channel, ts, vote, at)
