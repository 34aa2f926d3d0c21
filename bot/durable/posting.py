"""Posting a reply once, and taking it back: now, later, or not at all."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from bot.domain.errors import ClaimLost, DeliveryFailed, DeliveryRefused
from bot.domain.ports import Worklist
from bot.domain.types import Interaction, InteractionId, Outcome, PostedRef
from bot.durable.delivery import Deliverer

log = structlog.get_logger(__name__)

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_LEASE_LOOK_SECONDS = 0.5
_SHOWN_AFTER_SECONDS = 2.0
"""A platform may show a little later what it took from a process that died."""


class Posting:
    """Brings one outcome to its platform under a claim. What it returns is when to come again.

    Args:
        work: The list of work.
        deliver: Makes one attempt.
        alive: Whether this process's lease holds; without it nothing is posted.
        patience: How long a platform that does not take a reply is tried again.
    """

    def __init__(
        self,
        work: Worklist,
        deliver: Deliverer,
        *,
        alive: Callable[[], bool],
        patience: timedelta,
    ) -> None:
        self._work = work
        self._deliver = deliver
        self._alive = alive
        self._patience = patience
        self._waiting: dict[InteractionId, asyncio.Task[PostedRef]] = {}

    def interrupt(self, interaction_id: InteractionId) -> None:
        """Let the reply to a withdrawn question wait no longer; what is begun is taken back."""
        waiting = self._waiting.get(interaction_id)
        if waiting is not None:
            waiting.cancel()

    async def first(self, interaction: Interaction, outcome: Outcome) -> float | None:
        """Post an outcome that was just recorded under this claim. Raises ClaimLost."""
        return await self._post(interaction, self._first(interaction, outcome))

    async def again(self, interaction: Interaction, outcome: Outcome) -> float | None:
        """Post what an earlier attempt may have posted: it is looked up. Raises ClaimLost.

        Where no attempt was begun, nothing is.
        """
        return await self._post(interaction, self._again(interaction, outcome))

    async def withdraw(self, interaction: Interaction) -> float | None:
        """Take back what was posted, and forget where that was."""
        try:
            await self._deliver.withdraw(interaction)
        except DeliveryRefused as error:
            log.warning("delivery.not_withdrawn", interaction_id=interaction.id, why=str(error))
        except DeliveryFailed as error:
            return await self._later(interaction, error)
        await self._work.cancelled(interaction.id)
        return None

    async def tidy(self, interaction: Interaction) -> None:
        """Remove a placeholder that was opened while the question was withdrawn elsewhere."""
        recorded = await self._work.get(interaction.id)
        if interaction.placeholder and recorded and recorded.withdrawn:
            await self._deliver.withdraw(replace(interaction, posted=None))

    async def _first(self, interaction: Interaction, outcome: Outcome) -> PostedRef:
        async with self._turn(interaction, outcome):
            if self._deliver.takes_turns(interaction.message):
                await self._work.posting(interaction)
            return await self._deliver.post(interaction, outcome, again=False)

    async def _again(self, interaction: Interaction, outcome: Outcome) -> PostedRef:
        if interaction.posting and self._deliver.posts_to(interaction.message):
            await asyncio.sleep(_SHOWN_AFTER_SECONDS)
        begun = interaction.posting or interaction.attempts > 0
        async with self._turn(interaction, outcome):
            await self._work.posting(interaction)
            return await self._deliver.post(interaction, outcome, again=begun)

    @asynccontextmanager
    async def _turn(self, interaction: Interaction, outcome: Outcome) -> AsyncIterator[None]:
        """Wait until it is this reply's turn; from then on it can't be interrupted."""
        turn = nullcontext() if outcome.silent else self._deliver.turn(interaction.message)
        async with turn:
            self._waiting.pop(interaction.id, None)
            yield

    async def _post(
        self, interaction: Interaction, attempt: Coroutine[Any, Any, PostedRef]
    ) -> float | None:
        try:
            ref = await self._while_alive(interaction.id, attempt)
        except DeliveryRefused as error:
            await self._give_up(interaction, str(error))
            return None
        except DeliveryFailed as error:
            return await self._later(interaction, error)
        return await self._posted(interaction, ref)

    async def _while_alive(
        self, interaction_id: InteractionId, attempt: Coroutine[Any, Any, PostedRef]
    ) -> PostedRef:
        """Post, but stop in the middle when the lease runs out: another process looks it up.

        Raises ClaimLost then, and when the question was withdrawn before the reply had its turn.
        """
        task = self._waiting[interaction_id] = asyncio.create_task(attempt)
        try:
            self._check_lease()
            while not (await asyncio.wait([task], timeout=_LEASE_LOOK_SECONDS))[0]:
                self._check_lease()
        finally:
            self._waiting.pop(interaction_id, None)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if task.cancelled():
            raise ClaimLost("The question was withdrawn while its reply waited to be posted.")
        return task.result()

    def _check_lease(self) -> None:
        if not self._alive():
            raise ClaimLost("This process's lease has run out. Another one takes over.")

    async def _posted(self, interaction: Interaction, ref: PostedRef) -> float | None:
        recorded = await self._work.posted(interaction.id, ref)
        if recorded.withdrawn:
            # With the message as it was: the recorded one may no longer say where to reply.
            return await self.withdraw(replace(recorded, message=interaction.message))
        return None

    async def _later(self, interaction: Interaction, error: DeliveryFailed) -> float | None:
        attempts = interaction.attempts + 1
        await self._work.unposted(interaction)
        since = interaction.finished_at or interaction.created_at
        if datetime.now(UTC) - since > self._patience:
            await self._give_up(interaction, str(error))
            if not interaction.withdrawn:
                await self._deliver.clear(interaction)
            return None
        pause = max(pause_before(attempts), error.retry_after_seconds or 0.0)
        log.warning(
            "delivery.postponed",
            interaction_id=interaction.id,
            attempts=attempts,
            seconds=round(pause, 1),
            why=str(error),
        )
        return pause

    async def _give_up(self, interaction: Interaction, why: str) -> None:
        await self._work.fail(interaction, why)
        log.error("delivery.given_up", interaction_id=interaction.id, why=why)


def pause_before(attempts: int) -> float:
    """Return seconds until the next attempt: doubling, spread so that not all come at once."""
    doubled = _FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 16)
    longest = min(doubled, _LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spread only
