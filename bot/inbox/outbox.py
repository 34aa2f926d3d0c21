"""Post each reply exactly once, retry refused deliveries, and withdraw posted replies.

A reply is posted under a claim, and only while this process holds its lease.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from bot.domain.errors import (
    BotError,
    ClaimLost,
    DeliveryFailed,
    DeliveryRefused,
    RateLimited,
    StoreUnavailable,
)
from bot.domain.interactions import Delivery, Interaction, Outcome, PostedRef
from bot.domain.messages import Activity, InteractionId, Message, Platform, Stage
from bot.domain.ports import Channel, OpensPlaceholders, TakesTurns, Withdraws
from bot.domain.urls import with_public_links
from bot.inbox.in_flight import Progress
from bot.inbox.ports import Worklist
from bot.observability.tracing import deliver_span

log = structlog.get_logger(__name__)

_DEADLINE_SECONDS = 60.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_LEASE_CHECK_SECONDS = 0.5


def delivery_id(interaction_id: InteractionId) -> str:
    """Return the id of the reply to a message, the same at every attempt."""
    return f"{interaction_id}:reply"


class ReplyOutbox:
    """Posts outcomes to their platforms; the public coroutines return the seconds until a retry.

    A platform without a channel fetches its replies itself (API, web page); they count as posted
    when they are recorded. So does a silent outcome: progress shown meanwhile is removed. Progress
    is not shown for overheard messages.

    Args:
        channels: By platform.
        work: The work list, which also records progress and placeholders.
        alive: Returns whether this process's lease holds; without it nothing is posted.
        patience: How long a failing delivery is retried.
        visible_after_seconds: When a platform shows a post of a process that died, at the latest.
        public_url: The address of this server for colleagues, for links to its own pages.
    """

    def __init__(
        self,
        channels: Mapping[Platform, Channel],
        work: Worklist,
        *,
        alive: Callable[[], bool],
        patience: timedelta,
        visible_after_seconds: float = 2.0,
        public_url: str | None = None,
    ) -> None:
        self._channels = channels
        self._work = work
        self._alive = alive
        self._patience = patience
        self._visible_after_seconds = visible_after_seconds
        self._public_url = public_url
        self._waiting: dict[InteractionId, asyncio.Task[PostedRef]] = {}

    def posts_to(self, message: Message) -> bool:
        """Return whether replies to a message are posted, not fetched."""
        return message.thread.platform in self._channels

    def fetched_at(self, interaction: Interaction) -> PostedRef | None:
        """Return the reference of a reply that its asker fetches; None if it is posted."""
        return None if self.posts_to(interaction.message) else _unposted_ref(interaction)

    def takes_turns(self, message: Message) -> bool:
        """Return whether a reply waits until earlier ones are posted."""
        return isinstance(self._channel(message), TakesTurns)

    def progress(self, interaction: Interaction) -> Progress:
        """Return the progress reporter of an interaction; use it with ``async with``."""
        message = interaction.message
        shown = None if message.shows_nothing else self._channel(message)
        return Progress(interaction, self._work, shown)

    def interrupt(self, interaction_id: InteractionId) -> None:
        """Stop a withdrawn question's reply from waiting; a begun post is withdrawn later."""
        waiting = self._waiting.get(interaction_id)
        if waiting is not None:
            waiting.cancel()

    async def post(
        self, interaction: Interaction, outcome: Outcome, *, first: bool
    ) -> float | None:
        """Post an outcome once; ``first``: it was just recorded under this claim.

        Otherwise an earlier post is looked up, but only where an attempt was begun. Raises
        ClaimLost.
        """
        attempt = self._post_in_turn(interaction, outcome, first=first)
        try:
            with _defects_as_failures(interaction.id):
                ref = await self._while_alive(interaction.id, attempt)
        except DeliveryRefused as error:
            await self._give_up(interaction, str(error))
            return None
        except DeliveryFailed as error:
            return await self._later(interaction, error)
        recorded = await self._work.posted(interaction.id, ref)
        if recorded.withdrawn:
            # With the original message: the recorded one may no longer hold the place to reply to.
            return await self.withdraw(replace(recorded, message=interaction.message))
        return None

    async def withdraw(self, interaction: Interaction) -> float | None:
        """Withdraw the posted messages, and delete their references."""
        try:
            with _defects_as_failures(interaction.id):
                await self.remove_posted(interaction)
        except DeliveryRefused as error:
            log.warning("delivery.not_withdrawn", interaction_id=interaction.id, why=str(error))
        except DeliveryFailed as error:
            return await self._later(interaction, error)
        await self._work.cancelled(interaction.id)
        return None

    async def remove_late_placeholder(self, interaction: Interaction) -> None:
        """Remove a placeholder that was opened while the question was withdrawn elsewhere."""
        recorded = await self._work.get(interaction.id)
        if interaction.placeholder and recorded and recorded.withdrawn:
            await self.remove_posted(replace(interaction, posted=None))

    async def attempt(
        self, interaction: Interaction, outcome: Outcome, *, again: bool
    ) -> PostedRef:
        """Try once to post an outcome; return its reference. Raises DeliveryFailed, ClaimLost.

        With ``again`` an earlier attempt may have succeeded: its post is looked up first.
        """
        message = interaction.message
        channel = self._channel(message)
        if channel is None:
            return _unposted_ref(interaction)
        delivery = Delivery(
            delivery_id(interaction.id),
            interaction.id,
            message,
            with_public_links(outcome, self._public_url),
            _visible_placeholder(interaction.placeholder),
        )
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                if outcome.silent or message.shadow:
                    await _clear_progress(channel, delivery)
                    return _unposted_ref(interaction)
                with deliver_span(delivery):
                    ready = await self._with_placeholder(channel, interaction, delivery)
                    posted = await channel.find(ready) if again else None
                    return posted or await channel.deliver(ready)
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

    async def _clear(self, interaction: Interaction) -> None:
        """Remove the progress shown for a question whose reply was given up.

        Never raises: a platform that refused everything for a day may refuse this too.
        """
        message, placeholder = interaction.message, _visible_placeholder(interaction.placeholder)
        channel = self._channel(message)
        if channel is None or message.shows_nothing:
            return
        with suppress(DeliveryFailed, TimeoutError):
            async with asyncio.timeout(_DEADLINE_SECONDS):
                if placeholder is not None and isinstance(channel, OpensPlaceholders):
                    await channel.close_placeholder(message, placeholder)
                await channel.progress(message, Activity(Stage.DONE), None)

    async def remove_posted(self, interaction: Interaction) -> None:
        """Remove posted messages, where the platform can. Raises DeliveryFailed."""
        channel = self._channel(interaction.message)
        unposted = _unposted_ref(interaction)
        # What reviewers saw of a question is withdrawn, too.
        was_seen = interaction.posted != unposted or interaction.message.shadow
        if isinstance(channel, Withdraws) and was_seen:
            seen = (
                _visible_placeholder(interaction.placeholder),
                interaction.posted,
                *interaction.told,
            )
            posted = [ref for ref in seen if ref is not None and ref != unposted]
            await channel.withdraw(interaction.message, posted)

    async def _post_in_turn(
        self, interaction: Interaction, outcome: Outcome, *, first: bool
    ) -> PostedRef:
        message = interaction.message
        begun = not first and (interaction.posting or interaction.attempts > 0)
        if not first and interaction.posting and self.posts_to(message):
            await asyncio.sleep(self._visible_after_seconds)
        async with nullcontext() if outcome.silent else self._turn(message):
            # From now on the post cannot be interrupted.
            self._waiting.pop(interaction.id, None)
            if not first or self.takes_turns(message):
                await self._work.posting(interaction)
            return await self.attempt(interaction, outcome, again=begun)

    def _turn(self, message: Message) -> AbstractAsyncContextManager[None]:
        """Wait for a reply's turn, however long that takes, and hold it in the block."""
        channel = self._channel(message)
        if isinstance(channel, TakesTurns):
            return channel.turn(message)
        return nullcontext()

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

    async def _later(self, interaction: Interaction, error: DeliveryFailed) -> float | None:
        """Return the pause before the next attempt, or give up and return None.

        A rate limit is no failed attempt: the pause does not grow, and later replies of the thread
        wait as for one that was not tried. That posting was begun stays recorded, as a part of the
        reply may be there.
        """
        attempts = max(1, interaction.attempts)
        if not isinstance(error, RateLimited):
            attempts = interaction.attempts + 1
            await self._work.unposted(interaction)
        since = interaction.finished_at or interaction.created_at
        if datetime.now(UTC) - since > self._patience:
            await self._give_up(interaction, str(error))
            if not interaction.withdrawn:
                # As recorded: the attempt itself may have opened the placeholder.
                with suppress(StoreUnavailable):
                    interaction = await self._work.get(interaction.id) or interaction
                await self._clear(interaction)
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

    def _channel(self, message: Message) -> Channel | None:
        return self._channels.get(message.thread.platform)


@contextmanager
def _defects_as_failures(interaction_id: InteractionId) -> Iterator[None]:
    """Raise DeliveryFailed for an unexpected error, so that it is not retried for ever."""
    try:
        yield
    except BotError:
        raise
    except Exception as error:
        log.exception("delivery.defect", interaction_id=interaction_id)
        raise DeliveryFailed(f"{type(error).__name__}; see the log.") from error


async def _remove_placeholder(channel: Channel, message: Message, placeholder: PostedRef) -> None:
    if isinstance(channel, Withdraws):
        with suppress(DeliveryFailed):
            await channel.withdraw(message, [placeholder])


async def _clear_progress(channel: Channel, delivery: Delivery) -> None:
    """Remove the progress shown to the asker, for a silent outcome."""
    message, placeholder = delivery.message, delivery.placeholder
    if message.shows_nothing:
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


def pause_before(attempts: int) -> float:
    """Return the seconds until the next attempt: doubling, with jitter."""
    doubled = _FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 16)
    longest = min(doubled, _LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spread only
