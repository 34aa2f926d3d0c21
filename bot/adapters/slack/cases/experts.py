"""Colleagues on Slack as those who answer."""

from __future__ import annotations

from typing import Protocol

from bot.chat.actions import COLLEAGUES_ONLY, ActionRejected
from bot.domain.cases import Actor, expert_of
from bot.domain.types import Person


class Known(Protocol):
    """What is known of a colleague; ``email`` only where it is verified."""

    @property
    def name(self) -> str: ...

    @property
    def email(self) -> str | None: ...


class KnowsColleagues(Protocol):
    """Tells colleagues from guests, bots and people of other organisations."""

    async def of(self, user_id: str) -> Known | None:
        """Return a colleague, None for anybody else. Raises bot.domain.errors.DeliveryFailed."""
        ...


class Experts:
    """Names colleagues so that they are the same person on the board."""

    def __init__(self, colleagues: KnowsColleagues) -> None:
        self._colleagues = colleagues

    async def actor(self, user: str) -> Actor:
        """Return who acts. Raises Declined for who is no colleague, DeliveryFailed."""
        known = await self._colleagues.of(user)
        if known is None:
            raise ActionRejected(COLLEAGUES_ONLY)
        return expert_of("slack", Person(user, name=known.name, email=known.email))
