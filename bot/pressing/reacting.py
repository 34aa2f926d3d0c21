"""Thumbs that come as reactions: told of in any order, and more than once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from weakref import WeakValueDictionary

import structlog

from bot.errors import FeedbackInvalid, InteractionUnknown
from bot.feedback import Vote
from bot.judging import Judging
from bot.ports import Notes
from bot.types import InteractionId, Platform

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a person's thumbs on an answer have become: ``given`` now, or ``taken`` back.

    ``at`` is when, in seconds, as a decimal number; it is kept as it is written.
    """

    at: str
    given: Vote | None = None
    taken: frozenset[Vote] = frozenset()


class Reacting:
    """Counts reactions as votes: what a person did last is remembered, for all processes.

    An older reaction of theirs changes nothing, nor does the same one again.
    """

    def __init__(self, *, platform: Platform, tenant: str, judging: Judging, notes: Notes) -> None:
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
