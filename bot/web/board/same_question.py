"""Cases of one question on the page of a case: those joined with it, and those that may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.cases import Actor, Case, CaseQuery
from bot.domain.errors import ActRefused
from bot.domain.messages import InteractionId
from bot.domain.texts import tr
from bot.escalations.case_view import askers_text
from bot.escalations.lifecycle import WAITING, check_join
from bot.escalations.ports import Cases
from rag.text.words import identifiers, stems

JOIN = "join:"
"""Begins the value of a button that joins the case to another; that one's id follows."""
SPLIT = "split"

_MOST_SHOWN = 50
_MOST_COMPARED = 200
"""The newest cases whose questions are compared with one."""
_MOST_NEAR = 3
_LEAST_SHARED = 0.5
"""Share of the word stems of two questions that both have, from which one is suggested."""


@dataclass(frozen=True, slots=True)
class NearCase:
    """A case that a person may join: its question is similar."""

    id: str
    question: str


@dataclass(frozen=True, slots=True)
class SameQuestion:
    """The cases of one question: ``lead`` is the one that the case joined, "" for none."""

    told: str = ""
    lead: str = ""
    joined: tuple[str, ...] = ()
    near: tuple[NearCase, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroups:
    """Finds and changes which cases are one. ``within`` zero: no case is suggested."""

    tenant: str
    cases: Cases
    within: timedelta
    clock: Callable[[], datetime]

    async def of(self, case: Case, actor: Actor) -> SameQuestion:
        """Return the cases joined with one, and those that an expert may join it to."""
        if case.joined_to:
            return SameQuestion(tr("It is answered with the leading case."), lead=case.joined_to)
        query = CaseQuery(joined_to=case.interaction_id)
        joined = await self.cases.find(self.tenant, query, limit=_MOST_SHOWN)
        return SameQuestion(
            askers_text(case),
            joined=tuple(each.interaction_id for each in joined),
            near=await self._near(case, actor),
        )

    async def change(self, case_id: InteractionId, given: str, actor: Actor) -> None:
        """Do what a button says: join a case to another, or make it one of its own.

        Raises ActRefused; InteractionUnknown for a case of the page that is gone.
        """
        if given == SPLIT:
            await self.cases.split(self.tenant, case_id, actor)
            return
        lead = InteractionId(given.removeprefix(JOIN))
        if await self.cases.get(self.tenant, lead) is None:
            raise ActRefused(tr("The other case no longer exists."))
        await self.cases.join(self.tenant, case_id, lead, actor)

    async def _near(self, case: Case, actor: Actor) -> tuple[NearCase, ...]:
        if not self.within or not case.join_scope:
            return ()
        query = CaseQuery(states=WAITING | {"claimed"}, leading=True, newest_first=True)
        found = await self.cases.find(self.tenant, query, limit=_MOST_COMPARED)
        since = self.clock() - self.within
        recent = [each for each in found if each.opened_at >= since]
        near = [each for each in recent if _may_join(case, each, actor)]
        return nearest(case.question, near)


def is_regrouping(given: str) -> bool:
    """Return whether a button's value joins or parts cases."""
    return given == SPLIT or given.startswith(JOIN)


def nearest(question: str, others: Sequence[Case]) -> tuple[NearCase, ...]:
    """Return the cases whose questions are most like one, the most similar first."""
    ranked = sorted(((_shared(question, each.question), each) for each in others), key=_by_share)
    near = [each for share, each in ranked if share >= _LEAST_SHARED]
    return tuple(NearCase(each.interaction_id, each.question) for each in near[:_MOST_NEAR])


def _by_share(ranked: tuple[float, Case]) -> float:
    return -ranked[0]


def _shared(one: str, other: str) -> float:
    """Return the share of word stems that two questions share; 0 if they name different things."""
    stems_of_one, stems_of_other = set(stems(one)), set(stems(other))
    every = stems_of_one | stems_of_other
    if not every or identifiers(one) != identifiers(other):
        return 0.0
    return len(stems_of_one & stems_of_other) / len(every)


def _may_join(case: Case, lead: Case, actor: Actor) -> bool:
    try:
        check_join(case, lead, actor)
    except ActRefused:
        return False
    return True
