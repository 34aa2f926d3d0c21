"""Ask the questions of gaps again, through the desk: a gap that is answered now is closed.

Nothing is recorded of it but the cost, and nothing is posted. A question is asked in the words that
were searched, without the conversation before it, for the readers that its answer had then: in a
channel what everyone may read, in private what was recorded of its asker, else what everyone may
read. Questions of people from outside are not asked: which spaces were open to them is not
recorded.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from bot.answering.admission import audience_of, policy_within
from bot.answering.limits import exceeded_budget
from bot.domain.interactions import Interaction, Outcome, Reply
from bot.domain.messages import Inquiry, InteractionId, Policy, Stage
from bot.domain.ports import AnswersInquiries, Policies
from bot.domain.usage import CurrentPause, UsageCounts, UsageLimits, day_of
from bot.learning.gaps import PassageRef, normalised
from rag.types import ModelCall

PURPOSE = "gap_check"
"""What the calls of models are recorded for."""

MOST_OF_A_GAP = 20
"""The newest questions of a gap in different words stand for all of it."""

ENOUGH = 0.8
"""The share of them that is answered if the gap is."""

_READ = 100
_SECONDS = 60.0


class AskedAgain(Protocol):
    """The record of gaps, as asking again needs it. Raises StoreUnavailable."""

    async def next_to_ask_again(self, tenant: str, before: datetime) -> str | None:
        """Return an open gap that was not asked again since a time; None if there is none."""
        ...

    async def newest_questions(self, gap: str, limit: int) -> Sequence[tuple[InteractionId, str]]:
        """Return the newest questions of a gap that count, with their words."""
        ...

    async def asked(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, Interaction]:
        """Return interactions by id, without withdrawn ones."""
        ...

    async def asked_again(
        self,
        tenant: str,
        gap: str,
        answered: Mapping[InteractionId, bool],
        closed_by: Sequence[PassageRef] | None,
    ) -> None:
        """Record which questions were answered; close the gap unless ``closed_by`` is None."""
        ...


class RecordsCalls(Protocol):
    """Records model calls that answer nobody. Raises StoreUnavailable."""

    async def record(
        self, tenant: str, interaction_id: InteractionId, calls: Sequence[ModelCall], purpose: str
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class ModelAllowance:
    """Whether models may be called for what nobody asks at the moment."""

    tenant: str
    limits: UsageLimits
    use: UsageCounts
    current_pause: CurrentPause

    async def is_left(self, now: datetime) -> bool:
        """Return whether there is no pause and the day's budget is not spent."""
        if await self.current_pause(self.tenant) is not None:
            return False
        if not (self.limits.tokens or self.limits.usd):
            return True
        spent = await self.use.spent(self.tenant, day_of(now), now)
        return exceeded_budget(self.limits, spent) is None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapChecks:
    """Asks gaps again, one at a time, within ``budget`` questions a night (0: none).

    Neither while answers are paused, nor once a budget of the day is used up. ``policy`` is the
    default one, which a channel's own narrows.
    """

    tenant: str
    record: AskedAgain
    desk: AnswersInquiries
    policies: Policies
    policy: Policy
    calls: RecordsCalls
    allowance: ModelAllowance
    budget: int

    async def ask_again(self, spent: int, now: datetime) -> int:
        """Ask the next gap's questions again; return how many, 0 if that was all for tonight."""
        left = self.budget - spent
        gap = None
        if left > 0 and await self.allowance.is_left(now):
            gap = await self.record.next_to_ask_again(self.tenant, day_of(now))
        if gap is None:
            return 0
        chosen = await self._questions(gap, min(self.budget, MOST_OF_A_GAP))
        if len(chosen) > left:
            # A part of them would not tell whether the gap is answered.
            return 0
        outcomes = {each.id: await self._ask(each) for each in chosen}
        answers = {each: passages_that_answer(outcome) for each, outcome in outcomes.items()}
        answered = {each: bool(found) for each, found in answers.items()}
        closed = bool(answered) and sum(answered.values()) >= ENOUGH * len(answered)
        pages = Counter(found[0] for found in answers.values() if found)
        best = [page for page, _ in pages.most_common(3)]
        await self.record.asked_again(self.tenant, gap, answered, best if closed else None)
        return max(1, len(chosen))

    async def _questions(self, gap: str, most: int) -> Sequence[Interaction]:
        listed = await self.record.newest_questions(gap, _READ)
        different: dict[str, InteractionId] = {}
        for each, question in listed:
            different.setdefault(normalised(question), each)
        ids = list(different.values())[:most]
        asked = await self.record.asked(self.tenant, ids)
        return [asked[each] for each in ids if each in asked]

    async def _ask(self, asked: Interaction) -> Outcome | None:
        """Return what a question is answered now; None if it is not asked, or takes too long."""
        if asked.outcome is None or asked.message.author.outsider:
            return None
        thread = asked.message.thread
        own = await self.policies.of(self.tenant, f"{thread.platform}:{thread.channel}")
        policy = self.policy if own is None else policy_within(own, self.policy.spaces)
        if policy.answers == "off":
            return None
        question = asked.outcome.trace.route.question
        message = replace(asked.message, text=question, attachments=(), overheard=False)
        inquiry = Inquiry(message, (), audience_of(message), policy)
        try:
            async with asyncio.timeout(_SECONDS):
                outcome = await self.desk.handle(inquiry, _report_nothing)
        except TimeoutError:
            return None
        await self.calls.record(self.tenant, asked.id, outcome.trace.calls, PURPOSE)
        return outcome


def passages_that_answer(outcome: Outcome | None) -> Sequence[PassageRef]:
    """Return the passages of an answer that is sure, or answers a part; none if there is none."""
    if outcome is None or not isinstance(outcome.response, Reply):
        return ()
    if outcome.response.confidence_level not in {"sure", "partial"}:
        return ()
    return [PassageRef(each.chunk_id, each.page_id) for each in outcome.response.sources]


async def _report_nothing(stage: Stage, pages: int = 0, /) -> None:
    """Nobody waits for the answer."""
