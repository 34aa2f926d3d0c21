"""Acts on cases that the loop over notices hears of, and whose words go to those who may read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.domain.cases import NO_DETAIL, Act, ActDetail, Actor, Case, CaseQuery, CaseStep
from bot.domain.messages import InteractionId, Thread
from bot.escalations.history import standing_replies
from bot.escalations.lifecycle import AMONG_EXPERTS
from bot.escalations.ports import Cases
from bot.escalations.shared_words import SharedWords

_MOST_JOINED = 200
"""Cases of one question whose pages are looked up; words about more go to one asker alone."""


class NotifyingCases:
    """Call ``announce`` after each act. Implements bot.escalations.ports.Cases over another.

    ``words`` decides whether a text goes to others who asked the same; without it none does.
    """

    def __init__(
        self, cases: Cases, announce: Callable[[], None], words: SharedWords | None = None
    ) -> None:
        self._cases = cases
        self._announce = announce
        self._words = words

    async def act(
        self,
        tenant: str,
        case_id: InteractionId,
        act: Act,
        actor: Actor,
        text: str = "",
        detail: ActDetail = NO_DETAIL,
    ) -> Case:
        if text and actor.role == "expert" and act not in AMONG_EXPERTS:
            shared = await self._shared(tenant, await self._group(tenant, case_id), text)
            detail = replace(detail, shared_with=shared)
        changed = await self._cases.act(tenant, case_id, act, actor, text, detail)
        self._announce()
        return changed

    async def join(
        self,
        tenant: str,
        case_id: InteractionId,
        lead_id: InteractionId,
        actor: Actor,
        shared_with: frozenset[InteractionId] = frozenset(),
    ) -> Case:
        said = standing_replies(await self._cases.steps(tenant, lead_id))
        if said:
            both = [await self._group(tenant, each) for each in (case_id, lead_id)]
            group = frozenset[InteractionId]().union(*both)
            shared_with = await self._shared(tenant, group, *(each.text for each in said))
        changed = await self._cases.join(tenant, case_id, lead_id, actor, shared_with)
        self._announce()
        return changed

    async def _group(self, tenant: str, case_id: InteractionId) -> frozenset[InteractionId]:
        """Return the cases of one question, this one among them; none if they are too many."""
        case = await self._cases.get(tenant, case_id)
        lead = (case and case.joined_to) or case_id
        query = CaseQuery(joined_to=lead)
        others = await self._cases.find(tenant, query, limit=_MOST_JOINED + 1)
        if len(others) > _MOST_JOINED:
            return frozenset()
        return frozenset({lead, case_id, *(each.interaction_id for each in others)})

    async def _shared(
        self, tenant: str, group: frozenset[InteractionId], *texts: str
    ) -> frozenset[InteractionId]:
        """Return the cases to whose askers texts may go: all of a group, or none.

        Of a case of its own that is never asked: nobody else gets them.
        """
        if self._words is None or len(group) == 1:
            return frozenset()
        return group if await self._words.are_open(tenant, group, *texts) else frozenset()

    async def split(self, tenant: str, case_id: InteractionId, actor: Actor) -> Case:
        changed = await self._cases.split(tenant, case_id, actor)
        self._announce()
        return changed

    async def get(self, tenant: str, case_id: InteractionId) -> Case | None:
        return await self._cases.get(tenant, case_id)

    async def find(
        self, tenant: str, query: CaseQuery, *, limit: int, after: Case | None = None
    ) -> Sequence[Case]:
        return await self._cases.find(tenant, query, limit=limit, after=after)

    async def steps(self, tenant: str, case_id: InteractionId) -> Sequence[CaseStep]:
        return await self._cases.steps(tenant, case_id)

    async def experts(self, tenant: str) -> Sequence[Actor]:
        return await self._cases.experts(tenant)

    async def open_in(self, thread: Thread) -> Sequence[Case]:
        return await self._cases.open_in(thread)
