"""Cases whose news are told at once when something was done to them in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.escalations.ports import Cases
from bot.escalations.types import Act, Actor, Case, CaseQuery, CaseStep
from bot.types import InteractionId


class AnnouncedCases:
    """Implements bot.escalations.ports.Cases over others; ``announce`` is called after an act."""

    def __init__(self, cases: Cases, announce: Callable[[], None]) -> None:
        self._cases = cases
        self._announce = announce

    async def act(
        self, tenant: str, case_id: InteractionId, act: Act, actor: Actor, text: str = ""
    ) -> Case:
        changed = await self._cases.act(tenant, case_id, act, actor, text)
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
