"""Store thumbs and reactions as votes, on whichever message of an answer they were given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

import structlog

from bot.chat.actions import ActionTargets
from bot.chat.adapters import ChatContext
from bot.chat.votes import AnswerVotes, Reaction, ReactionVotes, can_be_rated
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import LONGEST_COMMENT, Vote
from bot.domain.interactions import Interaction, PostedRef
from bot.domain.messages import InteractionId, Message, Thread
from bot.platforms.teams.messages.replies import REPLY
from bot.platforms.teams.payloads.actions import EMPTY_ANSWER, acting_user_of
from bot.platforms.teams.payloads.activity import (
    Body,
    Json,
    conversation_of,
    is_from_bot,
    objects_at,
    person_of,
    sent_at,
    text_at,
    thread_id_of,
)
from bot.platforms.teams.transport.dispatch import Dispatch

_MOST_LOOKED_AT = 20
"""Number of messages of a conversation that are searched."""


class KnowsParts(Protocol):
    """Maps the activities of a long answer to its question: PostedActivities."""

    async def question_of(
        self, tenant: str, channel: str, activity_id: str
    ) -> InteractionId | None: ...

    async def of(self, message: Message, name: str, *, several: bool) -> Sequence[str]: ...


class AnswerLookup:
    """Finds the answer that a rated message belongs to. Raises StoreUnavailable."""

    def __init__(self, context: ChatContext, parts: KnowsParts) -> None:
        self._interactions = context.interactions
        self._tenant = context.tenant
        self._parts = parts

    async def judged(self, body: Body) -> Interaction | None:
        """Return the rated answer; None if the message is no answer of ours in the conversation."""
        channel, activity_id = conversation_of(body), text_at(body, "replyToId")
        if not (channel and activity_id):
            return None
        ref = PostedRef(channel, activity_id)
        found = await self._interactions.find_posted(self._tenant, ref)
        if found is None:
            found = await self._part_of(channel, activity_id)
        return found if found is not None and self._is_there(found, channel) else None

    async def _part_of(self, channel: str, activity_id: str) -> Interaction | None:
        """Return the answer that the activity is a part of; None for notices by people."""
        named = await self._parts.question_of(self._tenant, channel, activity_id)
        found = await self._interactions.get(named) if named else None
        if found is None:
            return None
        posted = await self._parts.of(found.message, REPLY, several=True)
        return found if activity_id in posted else None

    async def newest_of(self, body: Body) -> Interaction | None:
        """Return the newest answer in the thread that can be rated and that the sender asked for.

        Microsoft's playground needs this: it does not send the id of the rated message.
        """
        there = Thread("teams", self._tenant, conversation_of(body), thread_id_of(body))
        asked = await self._interactions.in_thread(there, _MOST_LOOKED_AT)
        person = person_of(body).id
        own = [each for each in asked if each.message.author.id == person]
        return next((each for each in reversed(own) if can_be_rated(each.outcome)), None)

    def _is_there(self, interaction: Interaction, channel: str) -> bool:
        thread = interaction.message.thread
        return (thread.platform, thread.tenant, thread.channel) == ("teams", self._tenant, channel)


_THUMB_VOTES: Mapping[str, Vote] = {"like": "up", "dislike": "down"}
_COMMENT_KEY = "feedbackText"

log = structlog.get_logger(__name__)


class FeedbackLoop:
    """Stores thumbs from message/submitAction. Implements `Listener`.

    Teams expects ``{}`` whether or not the vote was stored.
    """

    def __init__(
        self, *, tenant: str, answers: AnswerLookup, judging: AnswerVotes, subjects: ActionTargets
    ) -> None:
        self._tenant = tenant
        self._answers = answers
        self._judging = judging
        self._subjects = subjects

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_invoke("message/submitAction", self._take)

    async def _take(self, body: Body) -> Json:
        vote = _THUMB_VOTES.get(text_at(body, "value", "actionValue", "reaction"))
        if vote is None:
            return EMPTY_ANSWER
        interaction = await self._judged(body)
        if interaction is None:
            log.info("teams.feedback_unmatched")
        elif not await self._subjects.may_act(interaction.message, acting_user_of(body)):
            log.info("teams.feedback_of_nobody", interaction_id=interaction.id)
        else:
            await self._keep(interaction, body, vote)
        return EMPTY_ANSWER

    async def _judged(self, body: Body) -> Interaction | None:
        if text_at(body, "replyToId"):
            return await self._answers.judged(body)
        return await self._answers.newest_of(body)

    async def _keep(self, interaction: Interaction, body: Body, vote: Vote) -> None:
        person = acting_user_of(body).person.id
        try:
            await self._judging.vote(
                self._tenant, interaction.id, person, vote, comment=comment_in(body)
            )
        except (FeedbackInvalid, InteractionUnknown) as error:
            log.info("teams.feedback_not_counted", why=str(error))


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


class FeedbackReactions:
    """Stores reactions as votes. Implements `Listener`.

    Teams sends only reactions to the bot's own messages.
    """

    def __init__(
        self, *, answers: AnswerLookup, reacting: ReactionVotes, subjects: ActionTargets
    ) -> None:
        self._answers = answers
        self._reacting = reacting
        self._subjects = subjects

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("messageReaction", self._take)

    async def _take(self, body: Body) -> bool:
        reaction, presser = reaction_in(body), acting_user_of(body)
        if reaction is None or not presser.person.id or is_from_bot(body):
            return False
        interaction = await self._answers.judged(body)
        if interaction is None:
            return False
        if await self._subjects.may_act(interaction.message, presser):
            await self._reacting.count(interaction.id, presser.person.id, reaction)
        else:
            log.info("teams.reaction_of_nobody", interaction_id=interaction.id)
        return True


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
