"""Record thumbs up and down on answers, from buttons and reactions, with reasons and comments.

Each person has one vote on an answer. Reactions come in any order and more than once; the latest
by the platform's time counts, for all processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol
from weakref import WeakValueDictionary

import structlog

from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import LONGEST_COMMENT, Reason, Vote, new_feedback
from bot.domain.interactions import Feedback, Interaction, Outcome, Reply
from bot.domain.messages import InteractionId, Platform
from bot.domain.ports import Notes


class KeepsVotes(Protocol):
    """The record of answers and what was said of them. Raises StoreUnavailable."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def rate(self, feedback: Feedback) -> None:
        """Keep one feedback per person and interaction; a later one replaces it."""
        ...

    async def unrate(self, interaction_id: InteractionId, person_id: str) -> None: ...

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]: ...


def can_be_rated(outcome: Outcome | None) -> bool:
    """Tell whether an answer can be judged: it has sources to judge it by."""
    return (
        outcome is not None
        and isinstance(outcome.response, Reply)
        and bool(outcome.response.sources)
    )


class AnswerVotes:
    """Takes thumbs and what is said with them; each person has one judgement of an answer.

    Every method raises InteractionUnknown for what is not there, is another tenant's, or is
    another person's private conversation; FeedbackInvalid for what can't be judged or said.
    Whether a person may judge at all is for the platform to tell.
    """

    def __init__(self, interactions: KeepsVotes) -> None:
        self._interactions = interactions

    async def vote(
        self,
        tenant: str,
        interaction_id: InteractionId,
        person_id: str,
        vote: Vote,
        *,
        comment: str = "",
    ) -> bool:
        """Keep a thumb in place of an earlier one; tell whether it is another now.

        The same thumb again changes nothing; what was said with it stays, unless there is a new
        ``comment``.
        """
        await self._answer(tenant, interaction_id, person_id)
        given = await self._given(interaction_id, person_id)
        before = given if given is not None and given.vote == vote else None
        if before is None:
            await self._interactions.rate(
                new_feedback(interaction_id, person_id, vote, comment=comment)
            )
        elif comment:
            said = new_feedback(
                interaction_id,
                person_id,
                vote,
                rating=before.rating,
                reason=before.reason,
                comment=comment,
            )
            await self._interactions.rate(said)
        return before is None

    async def take_back(
        self, tenant: str, interaction_id: InteractionId, person_id: str, vote: Vote
    ) -> bool:
        """Take a thumb back if it is the one that counts now; tell whether it was."""
        await self._answer(tenant, interaction_id, person_id)
        given = await self._given(interaction_id, person_id)
        if given is None or given.vote != vote:
            return False
        await self._interactions.unrate(interaction_id, person_id)
        return True

    async def say_why(
        self,
        tenant: str,
        interaction_id: InteractionId,
        person_id: str,
        *,
        reason: str | None = None,
        comment: str | None = None,
    ) -> None:
        """Keep why an answer did not help: it is a thumb down, whatever the vote was before.

        What is not said now stays as it was said with an earlier thumb down.
        """
        await self._answer(tenant, interaction_id, person_id)
        given = await self._given(interaction_id, person_id)
        before = given if given is not None and given.vote == "down" else None
        said = new_feedback(
            interaction_id,
            person_id,
            "down",
            rating=before.rating if before else None,
            reason=reason or (before.reason if before else None),
            comment=comment or (before.comment if before else None),
        )
        await self._interactions.rate(said)

    async def _answer(self, tenant: str, interaction_id: InteractionId, person_id: str) -> None:
        """Check that there is an answer for this person to judge."""
        interaction = await self._interactions.get(interaction_id)
        if interaction is None or not _may_rate(interaction, tenant, person_id):
            raise InteractionUnknown(
                f"There is no interaction {interaction_id!r} that {person_id!r} of tenant "
                f"{tenant!r} may judge: it never was, or it is another person's private one."
            )
        if not can_be_rated(interaction.outcome):
            raise FeedbackInvalid(
                f"Interaction {interaction_id!r} has no answer with sources, or it was withdrawn: "
                "there is nothing to judge."
            )

    async def _given(self, interaction_id: InteractionId, person_id: str) -> Feedback | None:
        given = await self._interactions.feedback(interaction_id)
        return next((each for each in given if each.person_id == person_id), None)


def _may_rate(interaction: Interaction, tenant: str, person_id: str) -> bool:
    message = interaction.message
    if message.thread.tenant != tenant:
        return False
    return not message.private or message.author.id == person_id


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a person's thumbs on an answer have become: ``given`` now, or ``taken`` back.

    ``at`` is when, in seconds, as a decimal number; it is kept as it is written.
    """

    at: str
    given: Vote | None = None
    taken: frozenset[Vote] = frozenset()


class ReactionVotes:
    """Counts reactions as votes: what a person did last is remembered, for all processes.

    An older reaction of theirs changes nothing, nor does the same one again.
    """

    def __init__(
        self, *, platform: Platform, tenant: str, judging: AnswerVotes, notes: Notes
    ) -> None:
        self._platform = platform
        self._tenant = tenant
        self._judging = judging
        self._notes = notes
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def count(
        self, interaction_id: InteractionId, person_id: str, reaction: Reaction
    ) -> Vote | None:
        """Count a reaction; return the vote if it is another one than before.

        That the person may judge is for the caller to know. Raises StoreUnavailable.
        """
        key = f"{self._platform}:thumb:{interaction_id}:{person_id}"
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            last = await self._notes.get(self._tenant, key)
            if last is not None and Decimal(last) >= Decimal(reaction.at):
                return None
            try:
                vote = await self._vote(interaction_id, person_id, reaction)
            except (FeedbackInvalid, InteractionUnknown) as error:
                log.info("reaction_not_counted", platform=self._platform, why=str(error))
                return None
            await self._notes.put(self._tenant, key, reaction.at, interaction_id=interaction_id)
            return vote

    async def _vote(
        self, interaction_id: InteractionId, person_id: str, reaction: Reaction
    ) -> Vote | None:
        about = (self._tenant, interaction_id, person_id)
        if reaction.given is not None:
            return reaction.given if await self._judging.vote(*about, reaction.given) else None
        for vote in sorted(reaction.taken):
            await self._judging.take_back(*about, vote)
        return None


REASON_LABELS: Mapping[Reason, str] = {
    "wrong": "It's wrong",
    "outdated": "It's outdated",
    "off_topic": "Not what I asked",
    "unclear": "It's unclear",
    "other": "Something else\u2026",
}
COMMENT_QUESTION = "What was wrong with the answer?"
COMMENT_READERS = "Those who look after me read it with your name."
COMMENT_TOO_LONG = f"That is too long to keep. Please say it in {LONGEST_COMMENT:,} characters."
COMMENT_THANKS = "Thanks, I've noted what you wrote."
