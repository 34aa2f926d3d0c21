"""Record thumbs up and down on answers, from buttons and reactions, with reasons and comments.

Each person has one vote per answer. Reactions arrive in any order and more than once; the latest by
the platform's time counts, for all processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from weakref import WeakValueDictionary

import structlog

from bot.chat.actions import NOTHING_TO_RATE, ActingUser, ActionRejected, ActionTargets
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.interactions import (
    LONGEST_COMMENT,
    Feedback,
    Interaction,
    Outcome,
    Reason,
    Reply,
    Vote,
    new_feedback,
)
from bot.domain.messages import InteractionId
from bot.domain.ports import Interactions, Notes
from bot.domain.texts import changed, join_texts, tr


def can_be_rated(outcome: Outcome | None) -> bool:
    """Return whether an answer can be rated: it must have sources."""
    return (
        outcome is not None
        and isinstance(outcome.response, Reply)
        and bool(outcome.response.sources)
    )


class AnswerVotes:
    """Record votes with their reasons and comments; each person has one feedback per answer.

    Every method raises InteractionUnknown for an interaction that does not exist, or belongs to
    another tenant or another person's private conversation; FeedbackInvalid for an answer that
    can't be rated or an invalid value. The platform decides whether a person may rate at all.
    """

    def __init__(self, interactions: Interactions) -> None:
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
        """Store a vote in place of an earlier one; return whether it differs.

        The same vote again changes nothing; its comment stays unless there is a new ``comment``.
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
        """Remove a vote if it is the current one; return whether it was."""
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
        """Store why an answer did not help, as a thumb down, whatever the vote was before.

        A reason or comment not given now is kept from an earlier thumb down.
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
        """Check that there is an answer that this person may rate."""
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
    """Change of a person's thumb reactions on an answer: ``given`` now, or ``taken`` back.

    ``at`` is the time in seconds, as a decimal number; the string is stored unchanged.
    """

    at: str
    given: Vote | None = None
    taken: frozenset[Vote] = frozenset()


class ChatVotes:
    """Count the votes of one platform's users, given by buttons, forms and reactions.

    Reactions count in the order of the platform's timestamps: the time of a person's last reaction
    is stored for all processes; an older or repeated one changes nothing.
    """

    def __init__(self, targets: ActionTargets, notes: Notes) -> None:
        self._targets = targets
        self._platform = targets.platform
        self._tenant = targets.tenant
        self._votes = AnswerVotes(targets.interactions)
        self._notes = notes
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def vote(
        self, interaction_id: InteractionId, person_id: str, vote: Vote, *, comment: str = ""
    ) -> None:
        """Store the vote of a person who may act on the answer. Raises ActionRejected."""
        try:
            await self._votes.vote(self._tenant, interaction_id, person_id, vote, comment=comment)
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise ActionRejected(NOTHING_TO_RATE) from error

    async def say_why(
        self,
        interaction_id: InteractionId,
        person_id: str,
        *,
        reason: str | None,
        comment: str | None = None,
    ) -> None:
        """Store why an answer did not help a person who may act on it. Raises ActionRejected."""
        try:
            await self._votes.say_why(
                self._tenant, interaction_id, person_id, reason=reason, comment=comment
            )
        except (FeedbackInvalid, InteractionUnknown) as error:
            too_long = isinstance(error, FeedbackInvalid) and len(comment or "") > LONGEST_COMMENT
            raise ActionRejected(COMMENT_TOO_LONG if too_long else NOTHING_TO_RATE) from error

    async def react(
        self, interaction: Interaction, presser: ActingUser, reaction: Reaction
    ) -> Vote | None:
        """Count a reaction, if the user may act on the answer; return the vote if it is a new one.

        Raises StoreUnavailable, DeliveryFailed.
        """
        if not await self._targets.may_act(interaction.message, presser):
            log.info("reaction_of_nobody", platform=self._platform, interaction_id=interaction.id)
            return None
        interaction_id, person_id = interaction.id, presser.person.id
        key = f"{self._platform}:thumb:{interaction_id}:{person_id}"
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            last = await self._notes.get(self._tenant, key)
            if last is not None and Decimal(last) >= Decimal(reaction.at):
                return None
            try:
                vote = await self._apply(interaction_id, person_id, reaction)
            except (FeedbackInvalid, InteractionUnknown) as error:
                log.info("reaction_not_counted", platform=self._platform, why=str(error))
                return None
            await self._notes.put(self._tenant, key, reaction.at, interaction_id=interaction_id)
            return vote

    async def _apply(
        self, interaction_id: InteractionId, person_id: str, reaction: Reaction
    ) -> Vote | None:
        about = (self._tenant, interaction_id, person_id)
        if reaction.given is not None:
            return reaction.given if await self._votes.vote(*about, reaction.given) else None
        for vote in sorted(reaction.taken):
            await self._votes.take_back(*about, vote)
        return None


REASON_LABELS: Mapping[Reason, str] = {
    "wrong": tr("It's wrong"),
    "outdated": tr("It's outdated"),
    "off_topic": tr("Not what I asked"),
    "unclear": tr("It's unclear"),
    "other": tr("Something else\u2026"),
}
COMMENT_QUESTION = tr("What was wrong with the answer?")


def judgement_text(given: Feedback) -> str:
    """Return why somebody judged an answer as they did: the reason, and their own words."""
    labels = (label for code, label in REASON_LABELS.items() if code == given.reason)
    label = changed(next(labels, ""), _without_ellipsis)
    return join_texts(": ", filter(None, (label, (given.comment or "").strip())))


def _without_ellipsis(label: str) -> str:
    return label.rstrip(" \u2026")


JUDGED_INTRO = tr("The asker's feedback on the answer:")

COMMENT_READERS = tr("My admins can read it with your name.")
COMMENT_TOO_LONG = tr(
    "The comment is too long. The maximum is {most} characters.", most=LONGEST_COMMENT
)
COMMENT_THANKS = tr("Thank you for your feedback.")
