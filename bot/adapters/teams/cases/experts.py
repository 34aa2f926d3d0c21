"""Colleagues in Teams as those who answer."""

from __future__ import annotations

from typing import Protocol

from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.wire.reference import reference_of
from bot.chat.actions import COLLEAGUES_ONLY, ActionRejected
from bot.domain.cases import Actor, expert_of
from bot.domain.types import Person


class Known(Protocol):
    """What is known of a colleague: bot.adapters.teams.home.members.Member."""

    @property
    def person(self) -> Person: ...


class KnowsColleagues(Protocol):
    """Tells colleagues from guests, bots and people of other organisations."""

    async def of(self, reply_to: str) -> Known | None:
        """Return the user of a reference, None for no colleague. Raises DeliveryFailed."""
        ...


class Experts:
    """Names colleagues so that they are the same person on Slack, on the web and on the board."""

    def __init__(self, colleagues: KnowsColleagues) -> None:
        self._colleagues = colleagues

    async def actor(self, press: Press) -> Actor:
        """Return who acts. Raises Declined for who is no colleague, DeliveryFailed."""
        known = await self._colleagues.of(reference_of(press.body))
        if known is None:
            raise ActionRejected(COLLEAGUES_ONLY)
        return expert_of("teams", known.person)
