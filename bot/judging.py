"""Judging an answer: which can be judged, by whom, and what a second judgement makes of the first.

It knows no platform; what a person says on one of them comes here as their id there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.errors import FeedbackInvalid, InteractionUnknown
from bot.feedback import Vote, judgement
from bot.types import Feedback, Interaction, InteractionId, Outcome, Reply


class Judged(Protocol):
    """The record of answers and what was said of them. Raises bot.errors.StoreUnavailable."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def rate(self, feedback: Feedback) -> None:
        """Keep one feedback per person and interaction; a later one replaces it."""
        ...

    async def unrate(self, interaction_id: InteractionId, person_id: str) -> None: ...

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]: ...


def can_be_judged(outcome: Outcome | None) -> bool:
    """Tell whether an answer can be judged: it has sources to judge it by."""
    return (
        outcome is not None
        and isinstance(outcome.response, Reply)
        and bool(outcome.response.sources)
    )


class Judging:
    """Takes thumbs and what is said with them; each person has one judgement of an answer.

    Every method raises InteractionUnknown for what is not there, is another tenant's, or is
    another person's private conversation; FeedbackInvalid for what can't be judged or said.
    Whether a person may judge at all is for the platform to tell.
    """

    def __init__(self, interactions: Judged) -> None:
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
                judgement(interaction_id, person_id, vote, comment=comment)
            )
        elif comment:
            said = judgement(
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
        said = judgement(
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
        if interaction is None or not _may_judge(interaction, tenant, person_id):
            raise InteractionUnknown(
                f"There is no interaction {interaction_id!r} that {person_id!r} of tenant "
                f"{tenant!r} may judge: it never was, or it is another person's private one."
            )
        if not can_be_judged(interaction.outcome):
            raise FeedbackInvalid(
                f"Interaction {interaction_id!r} has no answer with sources, or it was withdrawn: "
                "there is nothing to judge."
            )

    async def _given(self, interaction_id: InteractionId, person_id: str) -> Feedback | None:
        given = await self._interactions.feedback(interaction_id)
        return next((each for each in given if each.person_id == person_id), None)


def _may_judge(interaction: Interaction, tenant: str, person_id: str) -> bool:
    message = interaction.message
    if message.thread.tenant != tenant:
        return False
    return not message.private or message.author.id == person_id
