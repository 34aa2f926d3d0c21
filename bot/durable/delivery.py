"""Brings outcomes and progress to the platforms; a reply is posted once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace

from bot.domain.capabilities import TakesTurns
from bot.domain.errors import ClaimLost, DeliveryFailed
from bot.domain.ports import Channel, OpensPlaceholders, Withdraws, Worklist
from bot.domain.text.source_links import with_public_links
from bot.domain.types import (
    Activity,
    Delivery,
    Interaction,
    InteractionId,
    Message,
    Outcome,
    Platform,
    PostedRef,
    Stage,
)
from bot.durable.progress import Progress
from bot.observing.tracing.spans import deliver_span

_DEADLINE_SECONDS = 60.0


def delivery_id(interaction_id: InteractionId) -> str:
    """Name the reply to a message, the same at every attempt."""
    return f"{interaction_id}:reply"


class Deliverer:
    """Posts what the desk decided: one attempt; when to come again is bot.durable.work's.

    A platform without a channel fetches its replies itself (API, web page); they count as posted
    when they are recorded. So does an outcome that is silent: what was shown meanwhile is removed.
    Who did not address the bot is not shown what is being done.

    Args:
        channels: By platform.
        work: Where progress and placeholders are noted.
        public_url: Where colleagues reach this server, for links to its own pages.
    """

    def __init__(
        self,
        channels: Mapping[Platform, Channel],
        work: Worklist,
        *,
        public_url: str | None = None,
    ) -> None:
        self._public_url = public_url
        self._channels = channels
        self._work = work

    def posts_to(self, message: Message) -> bool:
        """Tell whether replies to a message are posted, not fetched."""
        return message.thread.platform in self._channels

    def takes_turns(self, message: Message) -> bool:
        """Tell whether a reply waits for others to be posted before it."""
        return isinstance(self._channels.get(message.thread.platform), TakesTurns)

    def turn(self, message: Message) -> AbstractAsyncContextManager[None]:
        """Wait for a reply's turn, however long that takes, and hold it in the block."""
        channel = self._channels.get(message.thread.platform)
        if isinstance(channel, TakesTurns):
            return channel.turn(message)
        return nullcontext()

    async def post(self, interaction: Interaction, outcome: Outcome, *, again: bool) -> PostedRef:
        """Post an outcome; return where it is. Raises DeliveryFailed, ClaimLost.

        ``again`` says that an earlier attempt may have got through: it is looked up first.
        """
        message = interaction.message
        shown = with_public_links(outcome, self._public_url)
        named = delivery_id(interaction.id)
        delivery = Delivery(named, interaction.id, message, shown, _known(interaction.placeholder))
        channel = self._channels.get(message.thread.platform)
        if channel is None:
            return _nowhere(interaction)
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                if outcome.silent:
                    await _cleared(channel, delivery)
                    return _nowhere(interaction)
                with deliver_span(delivery):
                    ready = await self._with_placeholder(channel, interaction, delivery)
                    return await _posted(channel, ready, again=again)
        except TimeoutError as error:
            raise DeliveryFailed(
                f"{channel.platform} did not answer within {_DEADLINE_SECONDS:.0f} s."
            ) from error

    async def _with_placeholder(
        self, channel: Channel, interaction: Interaction, delivery: Delivery
    ) -> Delivery:
        """Open what the reply is edited into, where there is nothing yet that can be repeated.

        A reply may come before anything was shown, or when that was too much for the platform.
        """
        if delivery.placeholder is not None or not isinstance(channel, OpensPlaceholders):
            return delivery
        if not channel.has_placeholder(delivery.message):
            return delivery
        if interaction.placeholder is None:
            unseen = PostedRef(delivery.message.thread.channel, "")
            await self._work.placeholder(interaction, unseen)
        opened = await channel.open_placeholder(delivery.message, needed=True)
        try:
            await self._work.placeholder(interaction, opened)
        except ClaimLost:
            if opened is not None:
                await _removed(channel, delivery.message, opened)
            raise
        return replace(delivery, placeholder=opened)

    async def clear(self, interaction: Interaction) -> None:
        """Remove what says that a question is worked on: its reply was given up.

        Never raises: what a platform does not take for a day, it may not take now.
        """
        message, placeholder = interaction.message, _known(interaction.placeholder)
        channel = self._channels.get(message.thread.platform)
        if channel is None or message.overheard:
            return
        with suppress(DeliveryFailed, TimeoutError):
            async with asyncio.timeout(_DEADLINE_SECONDS):
                if placeholder is not None and isinstance(channel, OpensPlaceholders):
                    await channel.close_placeholder(message, placeholder)
                await channel.progress(message, Activity(Stage.DONE), None)

    async def withdraw(self, interaction: Interaction) -> None:
        """Take back what was posted, where the platform can. Raises DeliveryFailed."""
        channel = self._channels.get(interaction.message.thread.platform)
        if isinstance(channel, Withdraws) and interaction.posted != _nowhere(interaction):
            seen = (_known(interaction.placeholder), interaction.posted, *interaction.told)
            posted = [ref for ref in seen if ref is not None]
            await channel.withdraw(interaction.message, posted)

    def progress(self, interaction: Interaction) -> Progress:
        """Return what tells the one who waits what is being done; use it with ``async with``."""
        message = interaction.message
        shown = None if message.overheard else self._channels.get(message.thread.platform)
        return Progress(interaction, self._work, shown)


async def _posted(channel: Channel, delivery: Delivery, *, again: bool) -> PostedRef:
    there = await channel.find(delivery) if again else None
    return there or await channel.deliver(delivery)


async def _removed(channel: Channel, message: Message, placeholder: PostedRef) -> None:
    if isinstance(channel, Withdraws):
        with suppress(DeliveryFailed):
            await channel.withdraw(message, [placeholder])


async def _cleared(channel: Channel, delivery: Delivery) -> None:
    """Remove what was shown to one who waited, where nothing is said."""
    message, placeholder = delivery.message, delivery.placeholder
    if message.overheard:
        return
    if placeholder is not None and isinstance(channel, Withdraws):
        await channel.withdraw(message, [placeholder])
    with suppress(DeliveryFailed):
        await channel.progress(message, Activity(Stage.DONE), None)


def _nowhere(interaction: Interaction) -> PostedRef:
    """Return what is noted in place of where a reply was posted, for one that never is."""
    return PostedRef(interaction.message.thread.key, delivery_id(interaction.id))


def _known(placeholder: PostedRef | None) -> PostedRef | None:
    """Return a placeholder whose place is known; it may have been posted without our seeing it."""
    return placeholder if placeholder and placeholder.id else None
