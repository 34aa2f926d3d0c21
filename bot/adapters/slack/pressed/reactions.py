"""Thumbs that people give to the bot's answers as reactions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.home.own import Own
from bot.adapters.slack.pressed.parts import AnswerParts
from bot.adapters.slack.pressed.pressing import presser
from bot.adapters.slack.pressed.reasons import Reasons
from bot.adapters.slack.said.ongoing import ACCEPT_SECONDS
from bot.adapters.slack.wire.events import Event, Us, id_at, object_at, text_at, ts_at
from bot.chat.actions import ActionTargets
from bot.chat.adapters import ChatContext
from bot.chat.votes import Reaction, ReactionVotes
from bot.domain.concurrency import BackgroundTasks
from bot.domain.feedback import Vote
from bot.domain.types import Interaction, PostedRef

_VOTES: dict[str, Vote] = {"+1": "up", "thumbsup": "up", "-1": "down", "thumbsdown": "down"}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Thumb:
    """A thumb on a message of ours: given, or taken back at ``at``, which is a ts."""

    user: str
    channel: str
    ts: str
    vote: Vote
    at: str


class Reactions:
    """Implements Registers: a thumb is a vote, and no thumb is none.

    The message that the record knows is counted before Slack has its answer; another part of a
    long answer is asked for afterwards. Slack sends events twice and in any order, so what a
    person did last is remembered: an older event of theirs changes nothing.
    """

    def __init__(
        self,
        *,
        own: Own,
        office: ChatContext,
        reacting: ReactionVotes,
        subjects: ActionTargets,
        parts: AnswerParts,
        reasons: Reasons,
        errands: BackgroundTasks,
    ) -> None:
        self._own = own
        self._office = office
        self._reacting = reacting
        self._subjects = subjects
        self._parts = parts
        self._reasons = reasons
        self._errands = errands

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("reaction_added")(self._added)
        bolt.event("reaction_removed")(self._removed)

    async def _added(self, body: dict[str, object], event: dict[str, object]) -> None:
        await self._take(thumb_of(event, self._own.us(body)), given=True)

    async def _removed(self, body: dict[str, object], event: dict[str, object]) -> None:
        await self._take(thumb_of(event, self._own.us(body)), given=False)

    async def _take(self, thumb: Thumb | None, *, given: bool) -> None:
        if thumb is None:
            return
        async with asyncio.timeout(ACCEPT_SECONDS):
            interaction = await self._known(thumb)
            if interaction is not None:
                await self._count(thumb, interaction, given=given)
                return
        self._errands.run(self._look_up(thumb, given=given), what="part of an answer")

    async def _known(self, thumb: Thumb) -> Interaction | None:
        ref = PostedRef(thumb.channel, thumb.ts)
        posted = await self._office.interactions.find_posted(self._office.tenant, ref)
        if posted is not None and posted.message.thread.platform == "slack":
            return posted
        known = self._parts.known(thumb.channel, thumb.ts)
        return await self._office.interactions.get(known) if known else None

    async def _look_up(self, thumb: Thumb, *, given: bool) -> None:
        named = await self._parts.look_up(thumb.channel, thumb.ts)
        interaction = await self._office.interactions.get(named) if named else None
        if interaction is not None and interaction.message.thread.channel == thumb.channel:
            await self._count(thumb, interaction, given=given)

    async def _count(self, thumb: Thumb, interaction: Interaction, *, given: bool) -> None:
        if not await self._subjects.may_act(
            interaction.message, presser(thumb.user, thumb.channel)
        ):
            log.info("slack.reaction_of_nobody", interaction_id=interaction.id)
            return
        counted = await self._reacting.count(interaction.id, thumb.user, _told(thumb, given=given))
        if counted == "down":
            asking = self._reasons.ask(interaction.message.thread, thumb.user, interaction.id)
            self._errands.run(asking, what="asked for a reason")


def _told(thumb: Thumb, *, given: bool) -> Reaction:
    if given:
        return Reaction(thumb.at, given=thumb.vote)
    return Reaction(thumb.at, taken=frozenset({thumb.vote}))


def thumb_of(event: Event, us: Us) -> Thumb | None:
    """Return a thumb on a message of ours, None for any other reaction, or anybody else's."""
    item = object_at(event, "item")
    vote = _VOTES.get(text_at(event, "reaction").partition("::")[0])
    user, channel, ts = id_at(event, "user"), id_at(item, "channel"), ts_at(item, "ts")
    ours = text_at(event, "item_user") in us.users and user not in us.users
    at = ts_at(event, "event_ts")
    if vote is None or not (user and channel and ts and at and ours):
        return None
    return Thumb(user, channel, ts, vote, at)
