"""Acts on cases that the loop over notices hears of, and whose links others may follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.domain.cases import NO_DETAIL, Act, ActDetail, Actor, Case, CaseQuery, CaseStep
from bot.domain.messages import InteractionId, Thread
from bot.escalations.ports import Cases
from bot.escalations.shared_links import OpenLinks


class NotifyingCases:
    """Call ``announce`` after each act. Implements bot.escalations.ports.Cases over another.

    ``links`` finds the links of a reply that others who asked the same get; without it they get
    none.
    """

    def __init__(
        self, cases: Cases, announce: Callable[[], None], links: OpenLinks | None = None
    ) -> None:
        self._cases = cases
        self._announce = announce
        self._links = links

    async def act(
        self,
        tenant: str,
        case_id: InteractionId,
        act: Act,
        actor: Actor,
        text: str = "",
        detail: ActDetail = NO_DETAIL,
    ) -> Case:
        if self._links is not None and act in {"reply", "amend", "decline", "resolve"}:
            opened = await self._links.among(tenant, case_id, text)
            detail = replace(detail, open_links=opened)
        changed = await self._cases.act(tenant, case_id, act, actor, text, detail)
        self._announce()
        return changed

    async def join(
        self,
        tenant: str,
        case_id: InteractionId,
        lead_id: InteractionId,
        actor: Actor,
        open_links: frozenset[str] = frozenset(),
    ) -> Case:
        if self._links is not None:
            said = [each.text for each in await self._cases.steps(tenant, lead_id)]
            open_links = await self._links.among(tenant, lead_id, *said)
        changed = await self._cases.join(tenant, case_id, lead_id, actor, open_links)
        self._announce()
        return changed

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
