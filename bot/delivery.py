"""Brings outcomes and progress to the platforms; a reply is posted once."""

from __future__ import annotations

from collections.abc import Mapping

import stamina
import structlog

from bot.errors import DeliveryFailed
from bot.links import reachable_from_afar
from bot.ports import Channel, Interactions, Withdraws
from bot.progress import Progress
from bot.types import Delivery, InteractionId, Message, Outcome, Platform, PostedRef

log = structlog.get_logger(__name__)


def delivery_id(interaction_id: InteractionId) -> str:
    """Name the reply to a message, the same at every attempt."""
    return f"{interaction_id}:reply"


class Deliverer:
    """Posts what the desk decided.

    A platform without a channel fetches its replies itself (API, web page); they count as posted
    when they are recorded.

    Args:
        channels: By platform.
        interactions: The record of where a reply became visible.
        attempts: How often a reply is posted before it is left for the next start.
        first_wait_seconds: Before the second attempt; doubles each time, with jitter.
        public_url: Where colleagues reach this server, for links to its own pages.
    """

    def __init__(
        self,
        channels: Mapping[Platform, Channel],
        interactions: Interactions,
        *,
        attempts: int = 5,
        first_wait_seconds: float = 0.5,
        public_url: str | None = None,
    ) -> None:
        self._public_url = public_url
        self._channels = channels
        self._interactions = interactions
        self._retrying = stamina.AsyncRetryingCaller(
            attempts=attempts,
            timeout=None,
            wait_initial=first_wait_seconds,
            wait_max=10.0,
            wait_jitter=first_wait_seconds,
        ).on(DeliveryFailed)

    async def deliver(
        self, message: Message, outcome: Outcome, *, again: bool = False
    ) -> PostedRef | None:
        """Post an outcome and record where it is; return None when the platform won't take it.

        ``again`` says that an earlier attempt may have got through: it is looked up first. What
        goes wrong is logged and never raised, but for StoreUnavailable.
        """
        interaction_id = message.interaction_id
        shown = reachable_from_afar(outcome, self._public_url)
        delivery = Delivery(delivery_id(interaction_id), interaction_id, message, shown)
        channel = self._channels.get(message.thread.platform)
        if channel is None:
            ref: PostedRef | None = PostedRef(message.thread.key, delivery.id)
        else:
            ref = await self._post(channel, delivery, again=again)
        if ref is not None:
            await self._interactions.posted(interaction_id, ref)
        return ref

    async def withdraw(self, message: Message, ref: PostedRef | None) -> None:
        """Take back a reply, where the platform can; what goes wrong is logged.

        Without ``ref`` it is looked up: it may have been posted and not recorded.
        """
        channel = self._channels.get(message.thread.platform)
        if not isinstance(channel, Withdraws):
            return
        try:
            there = ref or await channel.find(delivery_id(message.interaction_id))
            if there is not None:
                await self._retrying(channel.withdraw, there)
        except Exception:
            log.exception("delivery.withdraw_failed", interaction_id=message.interaction_id)

    def progress(self, message: Message) -> Progress:
        """Return what tells the one who waits what is being done; use it with ``async with``."""
        channel = self._channels.get(message.thread.platform)
        return Progress(message, self._interactions, channel)

    async def _post(self, channel: Channel, delivery: Delivery, *, again: bool) -> PostedRef | None:
        unknown = again

        async def once() -> PostedRef:
            nonlocal unknown
            there = await channel.find(delivery.id) if unknown else None
            unknown = True
            return there or await channel.deliver(delivery)

        try:
            return await self._retrying(once)
        except Exception:
            log.exception("delivery.failed", interaction_id=delivery.interaction_id)
            return None
