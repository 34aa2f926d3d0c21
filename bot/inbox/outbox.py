"""Post each reply exactly once, retry refused deliveries, and withdraw posted replies.

Deliverer makes one attempt; ReplyOutbox decides under a claim when to attempt, retry or give up.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from bot.domain.capabilities import TakesTurns
from bot.domain.errors import ClaimLost, DeliveryFailed, DeliveryRefused
from bot.domain.interactions import Delivery, Interaction, Outcome, PostedRef
from bot.domain.messages import Activity, InteractionId, Message, Platform, Stage
from bot.domain.ports import Channel, OpensPlaceholders, Withdraws, Worklist
from bot.domain.text.source_links import with_public_links
from bot.inbox.in_flight import Progress
from bot.observability.tracing import deliver_span

_DEADLINE_SECONDS = 60.0


def delivery_id(interaction_id: InteractionId) -> str:
    """Return the id of the reply to a message, the same at every attempt."""
    return f"{interaction_id}:reply"


class Deliverer:
    """Makes one attempt to post an outcome; bot.inbox.worker schedules further ones.

    A platform without a channel fetches its replies itself (API, web page); they count as posted
    when they are recorded. So does a silent outcome: progress shown meanwhile is removed. Progress
    is not shown for overheard messages.

    Args:
        channels: By platform.
        work: Where progress and placeholders are recorded.
        public_url: The address of this server for colleagues, for links to its own pages.
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
        """Return whether replies to a message are posted, not fetched."""
        return message.thread.platform in self._channels

    def takes_turns(self, message: Message) -> bool:
        """Return whether a reply waits until earlier ones are posted."""
        return isinstance(self._channels.get(message.thread.platform), TakesTurns)

    def turn(self, message: Message) -> AbstractAsyncContextManager[None]:
        """Wait for a reply's turn, however long that takes, and hold it in the block."""
        channel = self._channels.get(message.thread.platform)
        if isinstance(channel, TakesTurns):
            return channel.turn(message)
        return nullcontext()

    async def post(self, interaction: Interaction, outcome: Outcome, *, again: bool) -> PostedRef:
        """Post an outcome; return its reference. Raises DeliveryFailed, ClaimLost.

        With ``again`` an earlier attempt may have succeeded: its post is looked up first.
        """
        message = interaction.message
        shown = with_public_links(outcome, self._public_url)
        named = delivery_id(interaction.id)
        delivery = Delivery(
            named, interaction.id, message, shown, _visible_placeholder(interaction.placeholder)
        )
        channel = self._channels.get(message.thread.platform)
        if channel is None:
            return _unposted_ref(interaction)
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                if outcome.silent:
                    await _clear_progress(channel, delivery)
                    return _unposted_ref(interaction)
                with deliver_span(delivery):
                    ready = await self._with_placeholder(channel, interaction, delivery)
                    return await _find_or_deliver(channel, ready, again=again)
        except TimeoutError as error:
            raise DeliveryFailed(
                f"{channel.platform} did not answer within {_DEADLINE_SECONDS:.0f} s."
            ) from error

    async def _with_placeholder(
        self, channel: Channel, interaction: Interaction, delivery: Delivery
    ) -> Delivery:
        """Open the placeholder that the reply is edited into, if there is none yet.

        A reply may come before any progress was shown, or after the platform refused to show it.
        Editing can be repeated safely, posting cannot.
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
                await _remove_placeholder(channel, delivery.message, opened)
            raise
        return replace(delivery, placeholder=opened)

    async def clear(self, interaction: Interaction) -> None:
        """Remove the progress shown for a question whose reply was given up.

        Never raises: a platform that refused everything for a day may refuse this too.
        """
        message, placeholder = interaction.message, _visible_placeholder(interaction.placeholder)
        channel = self._channels.get(message.thread.platform)
        if channel is None or message.overheard:
            return
        with suppress(DeliveryFailed, TimeoutError):
            async with asyncio.timeout(_DEADLINE_SECONDS):
                if placeholder is not None and isinstance(channel, OpensPlaceholders):
                    await channel.close_placeholder(message, placeholder)
                await channel.progress(message, Activity(Stage.DONE), None)

    async def withdraw(self, interaction: Interaction) -> None:
        """Withdraw posted messages, where the platform can. Raises DeliveryFailed."""
        channel = self._channels.get(interaction.message.thread.platform)
        if isinstance(channel, Withdraws) and interaction.posted != _unposted_ref(interaction):
            seen = (
                _visible_placeholder(interaction.placeholder),
                interaction.posted,
                *interaction.told,
            )
            posted = [ref for ref in seen if ref is not None]
            await channel.withdraw(interaction.message, posted)

    def progress(self, interaction: Interaction) -> Progress:
        """Return the progress reporter of an interaction; use it with ``async with``."""
        message = interaction.message
        shown = None if message.overheard else self._channels.get(message.thread.platform)
        return Progress(interaction, self._work, shown)


async def _find_or_deliver(channel: Channel, delivery: Delivery, *, again: bool) -> PostedRef:
    there = await channel.find(delivery) if again else None
    return there or await channel.deliver(delivery)


async def _remove_placeholder(channel: Channel, message: Message, placeholder: PostedRef) -> None:
    if isinstance(channel, Withdraws):
        with suppress(DeliveryFailed):
            await channel.withdraw(message, [placeholder])


async def _clear_progress(channel: Channel, delivery: Delivery) -> None:
    """Remove the progress shown to the asker, for a silent outcome."""
    message, placeholder = delivery.message, delivery.placeholder
    if message.overheard:
        return
    if placeholder is not None and isinstance(channel, Withdraws):
        await channel.withdraw(message, [placeholder])
    with suppress(DeliveryFailed):
        await channel.progress(message, Activity(Stage.DONE), None)


def _unposted_ref(interaction: Interaction) -> PostedRef:
    """Return the reference recorded in place of a post, for a reply that is never posted."""
    return PostedRef(interaction.message.thread.key, delivery_id(interaction.id))


def _visible_placeholder(placeholder: PostedRef | None) -> PostedRef | None:
    """Return the placeholder if its id is known; one without an id may have been posted unseen."""
    return placeholder if placeholder and placeholder.id else None


log = structlog.get_logger(__name__)

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_LEASE_CHECK_SECONDS = 0.5
_VISIBLE_AFTER_SECONDS = 2.0
"""A platform may show a post from a process that died only after a moment."""


class ReplyOutbox:
    """Posts one outcome to its platform under a claim; returns the seconds until a retry, or None.

    Args:
        work: The work list.
        deliver: Makes one attempt.
        alive: Returns whether this process's lease holds; without it nothing is posted.
        patience: How long a failing delivery is retried.
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
        """Stop a withdrawn question's reply from waiting; a begun post is withdrawn later."""
        waiting = self._waiting.get(interaction_id)
        if waiting is not None:
            waiting.cancel()

    async def first(self, interaction: Interaction, outcome: Outcome) -> float | None:
        """Post an outcome that was just recorded under this claim. Raises ClaimLost."""
        return await self._post(interaction, self._first(interaction, outcome))

    async def again(self, interaction: Interaction, outcome: Outcome) -> float | None:
        """Post an outcome unless an earlier attempt already did. Raises ClaimLost.

        An earlier post is looked up, but only where an attempt was begun.
        """
        return await self._post(interaction, self._again(interaction, outcome))

    async def withdraw(self, interaction: Interaction) -> float | None:
        """Withdraw the posted messages, and delete their references."""
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
            await asyncio.sleep(_VISIBLE_AFTER_SECONDS)
        begun = interaction.posting or interaction.attempts > 0
        async with self._turn(interaction, outcome):
            await self._work.posting(interaction)
            return await self._deliver.post(interaction, outcome, again=begun)

    @asynccontextmanager
    async def _turn(self, interaction: Interaction, outcome: Outcome) -> AsyncIterator[None]:
        """Wait for this reply's turn; from then on it cannot be interrupted."""
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
        """Run an attempt, but cancel it when the lease runs out: another process looks the post up.

        Raises ClaimLost then, and when the question was withdrawn before the reply had its turn.
        """
        task = self._waiting[interaction_id] = asyncio.create_task(attempt)
        try:
            self._check_lease()
            while not (await asyncio.wait([task], timeout=_LEASE_CHECK_SECONDS))[0]:
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
            # With the original message: the recorded one may no longer hold the place to reply to.
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
    """Return the seconds until the next attempt: doubling, with jitter."""
    doubled = _FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 16)
    longest = min(doubled, _LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spread only
