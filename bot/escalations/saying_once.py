"""What people write in a form is said once, however often the form is sent."""

from __future__ import annotations

import asyncio
from typing import Protocol
from weakref import WeakValueDictionary

from bot.escalations.types import Act, Actor, Case
from bot.escalations.view import CaseView
from bot.ports import Notes
from bot.types import InteractionId

_DONE = "done"


class Works(Protocol):
    """What is done to a case, and seen of it: bot.escalations.casework.Casework."""

    async def act(
        self, tenant: str, case_id: InteractionId, act: Act, actor: Actor, text: str = ""
    ) -> Case: ...

    async def bare(self, tenant: str, case_id: InteractionId) -> CaseView: ...


class SayingOnce:
    """Does what a form says unless it was done: the same form sent twice is one reply.

    A note under the form's key says that it was sent. A process that died in between left the note
    open; then the history says whether it was.
    """

    def __init__(self, *, tenant: str, works: Works, notes: Notes) -> None:
        self._tenant = tenant
        self._works = works
        self._notes = notes
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def say(
        self, key: str, case_id: InteractionId, act: Act, actor: Actor, words: str
    ) -> None:
        """Act with words, once for a key, which names the form and its platform.

        Raises ActRefused, InteractionUnknown, StoreUnavailable.
        """
        # A platform sends a form once, its writer perhaps again.
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            said = await self._said(case_id, act, actor, words)
            if not await self._notes.first(self._tenant, key, str(said), interaction_id=case_id):
                before = await self._notes.get(self._tenant, key) or ""
                if before == _DONE or (before.isdecimal() and said > int(before)):
                    return
            await self._works.act(self._tenant, case_id, act, actor, words)
            await self._notes.put(self._tenant, key, _DONE, interaction_id=case_id)

    async def _said(self, case_id: InteractionId, act: Act, actor: Actor, words: str) -> int:
        """Return how often somebody has said the same of a case."""
        steps = (await self._works.bare(self._tenant, case_id)).steps
        same = (act, actor.id, words.strip())
        return sum(same == (each.step, each.actor and each.actor.id, each.text) for each in steps)
