"""Record feedback on answers, given by the thumb buttons or by thumb reactions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.chat.actions import NOTHING_TO_RATE, ActionRejected, ActionTargets, interaction_named
from bot.chat.adapters import ChatContext
from bot.chat.votes import AnswerVotes, Reaction, ReactionVotes
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import Vote
from bot.domain.interactions import Interaction, PostedRef
from bot.domain.messages import InteractionId
from bot.platforms.slack.actions.feedback_reasons import FeedbackReasons
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher, presser_in
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import NeverPermitted
from bot.platforms.slack.payloads.actions import FEEDBACK
from bot.platforms.slack.payloads.events import (
    BotIds,
    Event,
    id_at,
    object_at,
    response_url_of,
    text_at,
    ts_at,
)
from bot.platforms.slack.payloads.metadata import interaction_answered_by
from bot.platforms.slack.transport.requests import ACCEPT_SECONDS
from bot.platforms.slack.workspace.bot_identity import BotIdentity
from rag.types import LruDict

_THANKS = "Thanks, I'm glad it helped."
_BUTTON_VOTES: dict[str, Vote] = {"up": "up", "down": "down"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackButtons:
    """Records thumb button presses as votes; a new vote replaces the person's earlier one.

    Implements `Listener`.
    """

    tenant: str
    votes: AnswerVotes
    targets: ActionTargets
    presses: PressDispatcher
    reasons: FeedbackReasons
    background: BackgroundTasks

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, FEEDBACK, self._vote)

    async def _vote(self, press: Press) -> None:
        named, _, value = press.value.partition(":")
        vote, interaction_id = _BUTTON_VOTES.get(named), interaction_named(value)
        if vote is None:
            raise ActionRejected(NOTHING_TO_RATE)
        interaction = await self.targets.acted_on(interaction_id, press.presser)
        try:
            await self.votes.vote(self.tenant, interaction_id, press.user, vote)
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise ActionRejected(NOTHING_TO_RATE) from error
        if vote == "up":
            self.presses.tell(press, _THANKS)
        else:
            self.background.run(self._ask_why(press, interaction), what="asked for a reason")

    async def _ask_why(self, press: Press, interaction: Interaction) -> None:
        """Ask what was wrong; for a command at the press's response URL: it has no thread."""
        if response_url_of(interaction.message):
            await self.reasons.ask_at(press.response_url, interaction.id)
        else:
            await self.reasons.ask(interaction.message.thread, press.user, interaction.id)


_REMEMBERED = 1_000


class AnswerLookup:
    """Resolves a message to the interaction that it answers, by metadata, once per message.

    A long answer has several messages, and the record stores the last alone: for the others Slack
    is asked which question they answer.
    """

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._found = LruDict[tuple[str, str], InteractionId | None](_REMEMBERED)

    def known(self, channel: str, ts: str) -> InteractionId | None:
        """Return the cached result, without a call to Slack."""
        return self._found.get((channel, ts))

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


_REACTION_VOTES: dict[str, Vote] = {
    "+1": "up",
    "thumbsup": "up",
    "-1": "down",
    "thumbsdown": "down",
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ThumbReaction:
    """A thumb reaction on a message of the bot, added or removed at ``at``, which is a ts."""

    user: str
    channel: str
    ts: str
    vote: Vote
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackReactions:
    """Records thumb reactions as votes; removing the thumb removes the vote.

    Implements `Listener`. A reaction to a recorded message is counted before Slack is acknowledged;
    another part of a long answer is looked up afterwards. Slack sends events twice and in any
    order, so each person's last action is stored: an older event of theirs changes nothing.
    """

    identity: BotIdentity
    context: ChatContext
    votes: ReactionVotes
    targets: ActionTargets
    answers: AnswerLookup
    reasons: FeedbackReasons
    background: BackgroundTasks

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("reaction_added")(self._added)
        bolt.event("reaction_removed")(self._removed)

    async def _added(self, body: dict[str, object], event: dict[str, object]) -> None:
        await self._record(parse_thumb(event, self.identity.ids(body)), given=True)

    async def _removed(self, body: dict[str, object], event: dict[str, object]) -> None:
        await self._record(parse_thumb(event, self.identity.ids(body)), given=False)

    async def _record(self, thumb: ThumbReaction | None, *, given: bool) -> None:
        if thumb is None:
            return
        async with asyncio.timeout(ACCEPT_SECONDS):
            interaction = await self._known(thumb)
            if interaction is not None:
                await self._count(thumb, interaction, given=given)
                return
        self.background.run(self._look_up(thumb, given=given), what="part of an answer")

    async def _known(self, thumb: ThumbReaction) -> Interaction | None:
        ref = PostedRef(thumb.channel, thumb.ts)
        posted = await self.context.interactions.find_posted(self.context.tenant, ref)
        if posted is not None and posted.message.thread.platform == "slack":
            return posted
        known = self.answers.known(thumb.channel, thumb.ts)
        return await self.context.interactions.get(known) if known else None

    async def _look_up(self, thumb: ThumbReaction, *, given: bool) -> None:
        named = await self.answers.look_up(thumb.channel, thumb.ts)
        interaction = await self.context.interactions.get(named) if named else None
        if interaction is not None and interaction.message.thread.channel == thumb.channel:
            await self._count(thumb, interaction, given=given)

    async def _count(self, thumb: ThumbReaction, interaction: Interaction, *, given: bool) -> None:
        if not await self.targets.may_act(
            interaction.message, presser_in(thumb.user, thumb.channel)
        ):
            log.info("slack.reaction_of_nobody", interaction_id=interaction.id)
            return
        taken = frozenset() if given else frozenset({thumb.vote})
        reaction = Reaction(thumb.at, given=thumb.vote if given else None, taken=taken)
        counted = await self.votes.count(interaction.id, thumb.user, reaction)
        if counted == "down":
            asking = self.reasons.ask(interaction.message.thread, thumb.user, interaction.id)
            self.background.run(asking, what="asked for a reason")


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
