"""People are told that a run held back: too much of a space, or all of it, seems to be gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import structlog

from bot.capabilities import TellsPeople
from bot.errors import DeliveryFailed, StoreUnavailable
from bot.ports import Notes
from bot.rendering.markdown import clip

_DEADLINE_SECONDS = 40.0
_WHY_LENGTH = 400

log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class HeldBackNews:
    """Posts one message a space, day and platform; what failed is tried by the next such run.

    Args:
        tenant: Whose spaces they are.
        notes: Where it is kept what was told.
        channels: Those of all platforms; the ones that can tell people do.
        now: The time.
    """

    def __init__(
        self,
        *,
        tenant: str,
        notes: Notes,
        channels: Sequence[object],
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._tenant = tenant
        self._notes = notes
        self._told = [each for each in channels if isinstance(each, TellsPeople)]
        self._now = now

    async def __call__(self, space: str, why: str) -> None:
        """Tell it wherever people are asked; never raises for a platform's sake."""
        text = held_back_text(space, why)
        for each in self._told:
            try:
                await self._tell(each, space, text)
            except (DeliveryFailed, StoreUnavailable, TimeoutError) as error:
                told = {"platform": each.platform, "space": space, "why": str(error)}
                log.warning("held_back.not_told", **told)

    async def _tell(self, channel: TellsPeople, space: str, text: str) -> None:
        key = f"{channel.platform}:held-back:{space}:{self._now():%Y-%m-%d}"
        if not await self._notes.first(self._tenant, key):
            return
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await channel.tell_people(text)
        except (DeliveryFailed, TimeoutError):
            await self._notes.remove(self._tenant, key)
            raise


def held_back_text(space: str, why: str) -> str:
    """Return what people are told, as plain text."""
    reason = clip(why, _WHY_LENGTH).rstrip(".")
    return (
        f"I stopped reading the space {space} and kept what I have of it. {reason}. If those pages "
        f"are meant to go, an admin allows it: reindex {space} --allow-mass-delete. Else look "
        "whether I may still read the space."
    )
