"""What an explanation is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bot.domain.types import Interaction, InteractionId, Platform
from bot.gating.gate import Weight


class Weighs(Protocol):
    """What each signal did to the judgement of an answer."""

    def weights(self, features: Mapping[str, float], composer: str) -> Sequence[Weight]: ...


class Recorded(Protocol):
    """What was asked and answered. Raises bot.domain.errors.StoreUnavailable."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def newest_of(
        self, tenant: str, platform: Platform, channel: str, person_id: str
    ) -> Interaction | None:
        """Return what a person asked last in a channel, of what has an outcome."""
        ...
