"""Record feedback on answers, given by the thumb buttons or by thumb reactions."""

from __future__ import annotations

import asyncio
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
from bot.platforms.slack.actions.feedback_reasons import FeedbackReasons
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher, presser_in
from bot.platforms.slack.client.conversations import AnswerLookup
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
from bot.platforms.slack.transport.dispatch import ACCEPT_SECONDS
from bot.platforms.slack.workspace.bot_identity import BotIdentity

_THANKS = "Thanks, I'm glad it helped."
_BUTTON_VOTES: dict[str, Vote] = {"up": "up", "down": "down"}


class FeedbackButtons:
    """Records thumb button presses as votes; a new vote replaces the person's earlier one.

    Implements `Listener`.
    """

    def __init__(
        self,
        *,
        tenant: str,
        judging: AnswerVotes,
        subjects: ActionTargets,
        presses: PressDispatcher,
        reasons: FeedbackReasons,
        background: BackgroundTasks,
    ) -> None:
        self._tenant = tenant
        self._judging = judging
        self._subjects = subjects
        self._presses = presses
        self._reasons = reasons
        self._background = background

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, FEEDBACK, self._vote)

    async def _vote(self, press: Press) -> None:
        named, _, value = press.value.partition(":")
        vote, interaction_id = _BUTTON_VOTES.get(named), interaction_named(value)
        if vote is None:
            raise ActionRejected(NOTHING_TO_RATE)
        interaction = await self._subjects.acted_on(interaction_id, press.presser)
        try:
            await self._judging.vote(self._tenant, interaction_id, press.user, vote)
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise ActionRejected(NOTHING_TO_RATE) from error
        if vote == "up":
            self._presses.tell(press, _THANKS)
        else:
            self._background.run(self._asked(press, interaction), what="asked for a reason")

    async def _asked(self, press: Press, interaction: Interaction) -> None:
        """Ask what was wrong; for a command at the press's response URL: it has no thread."""
        if response_url_of(interaction.message):
            await self._reasons.ask_at(press.response_url, interaction.id)
        else:
            await self._reasons.ask(interaction.message.thread, press.user, interaction.id)


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


class FeedbackReactions:
    """Records thumb reactions as votes; removing the thumb removes the vote.

    Implements `Listener`. A reaction to a recorded message is counted before Slack is acknowledged;
    another part of a long answer is looked up afterwards. Slack sends events twice and in any
    order, so each person's last action is stored: an older event of theirs changes nothing.
    """

    def __init__(
        self,
        *,
        own: BotIdentity,
        context: ChatContext,
        reacting: ReactionVotes,
        subjects: ActionTargets,
        parts: AnswerLookup,
        reasons: FeedbackReasons,
        background: BackgroundTasks,
    ) -> None:
        self._own = own
        self._context = context
        self._reacting = reacting
        self._subjects = subjects
        self._parts = parts
        self._reasons = reasons
        self._background = background

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("reaction_added")(self._added)
        bolt.event("reaction_removed")(self._removed)

    async def _added(self, body: dict[str, object], event: dict[str, object]) -> None:
        await self._take(parse_thumb(event, self._own.us(body)), given=True)

    async def _removed(self, body: dict[str, object], event: dict[str, object]) -> None:
        await self._take(parse_thumb(event, self._own.us(body)), given=False)

    async def _take(self, thumb: ThumbReaction | None, *, given: bool) -> None:
        if thumb is None:
            return
        async with asyncio.timeout(ACCEPT_SECONDS):
            interaction = await self._known(thumb)
            if interaction is not None:
                await self._count(thumb, interaction, given=given)
                return
        self._background.run(self._look_up(thumb, given=given), what="part of an answer")

    async def _known(self, thumb: ThumbReaction) -> Interaction | None:
        ref = PostedRef(thumb.channel, thumb.ts)
        posted = await self._context.interactions.find_posted(self._context.tenant, ref)
        if posted is not None and posted.message.thread.platform == "slack":
            return posted
        known = self._parts.known(thumb.channel, thumb.ts)
        return await self._context.interactions.get(known) if known else None

    async def _look_up(self, thumb: ThumbReaction, *, given: bool) -> None:
        named = await self._parts.look_up(thumb.channel, thumb.ts)
        interaction = await self._context.interactions.get(named) if named else None
        if interaction is not None and interaction.message.thread.channel == thumb.channel:
            await self._count(thumb, interaction, given=given)

    async def _count(self, thumb: ThumbReaction, interaction: Interaction, *, given: bool) -> None:
        if not await self._subjects.may_act(
            interaction.message, presser_in(thumb.user, thumb.channel)
        ):
            log.info("slack.reaction_of_nobody", interaction_id=interaction.id)
            return
        counted = await self._reacting.count(
            interaction.id, thumb.user, _reaction_of(thumb, given=given)
        )
        if counted == "down":
            asking = self._reasons.ask(interaction.message.thread, thumb.user, interaction.id)
            self._background.run(asking, what="asked for a reason")


def _reaction_of(thumb: ThumbReaction, *, given: bool) -> Reaction:
    if given:
        return Reaction(thumb.at, given=thumb.vote)
    return Reaction(thumb.at, taken=frozenset({thumb.vote}))


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
