"""What the bot needs from outside, as Protocols."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, runtime_checkable

from bot.types import (
    Delivery,
    Feedback,
    Inquiry,
    Interaction,
    InteractionId,
    Message,
    Outcome,
    Person,
    Platform,
    PostedRef,
    Stage,
    Thread,
)
from rag.types import Principal, Turn

ReportStage = Callable[[Stage], Awaitable[None]]
"""Tells the one who waits what is being done; never raises."""


class Inbox(Protocol):
    """Where adapters put messages; accepting twice is the same as once.

    ``accept`` raises bot.errors.InboxFull or bot.errors.InboxUnavailable; the adapter must then
    not acknowledge.
    """

    async def accept(self, message: Message) -> InteractionId:
        """Keep the message and start its work; both before returning."""
        ...

    async def amend(self, message: Message) -> None:
        """Replace the text of a message that is not answered yet."""
        ...

    async def cancel(self, interaction_id: InteractionId) -> None:
        """Stop the work on a message; its reply and stored text go."""
        ...

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        """Wait for what becomes of a message. Raises bot.errors.InteractionUnknown."""
        ...


class Channel(Protocol):
    """A platform that a reply can be posted on; rendering only, no decisions.

    Raises bot.errors.DeliveryFailed.
    """

    @property
    def platform(self) -> Platform: ...

    async def progress(self, message: Message, stage: Stage) -> None:
        """Show what is being done, as far as the platform can."""
        ...

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post the outcome where the message came from."""
        ...

    async def find(self, delivery_id: str) -> PostedRef | None:
        """Look up what an earlier attempt posted, or None where that can't be told."""
        ...


@runtime_checkable
class Withdraws(Protocol):
    """Optional capability of a channel: take back what was posted."""

    async def withdraw(self, ref: PostedRef) -> None:
        """Remove a reply; one that is gone already is no error. Raises DeliveryFailed."""
        ...


class Admits(Protocol):
    """Builds the inquiry: history, who asks, who will read the reply, the channel's policy."""

    async def admit(self, message: Message) -> Inquiry: ...


class AnswersInquiries(Protocol):
    """The desk, as the inbox and the command line see it."""

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome: ...


class Directory(Protocol):
    """Who is this, and what may they read."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        """Return the person's principals; ``everyone`` alone when nothing is known."""
        ...


class Reindex(Protocol):
    """Brings the index up to date; joined to ingestion in bot.app."""

    async def run(self, space: str | None = None, *, dry_run: bool = False) -> Sequence[str]:
        """Sync one space or all; return the report's lines."""
        ...


class Interactions(Protocol):
    """The record of what was asked and answered. Every write is idempotent by its key.

    Raises bot.errors.StoreUnavailable when the record cannot be reached.
    """

    async def open(self, message: Message) -> Interaction:
        """Record a message unless it is there already; return what is recorded."""
        ...

    async def close(self, interaction_id: InteractionId, outcome: Outcome) -> None:
        """Record the outcome, and its public text as a turn of the conversation."""
        ...

    async def fail(self, interaction_id: InteractionId) -> None: ...

    async def cancel(self, interaction_id: InteractionId) -> None:
        """Mark as cancelled and forget the texts."""
        ...

    async def amend(self, message: Message) -> bool:
        """Replace the text while no outcome is recorded; return whether it was."""
        ...

    async def posted(self, interaction_id: InteractionId, ref: PostedRef) -> None: ...

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def find_posted(self, tenant: str, ref: PostedRef) -> Interaction | None:
        """Return the interaction whose reply was posted there."""
        ...

    async def unfinished(self) -> Sequence[Interaction]:
        """Return what was accepted and is not answered or not posted yet, oldest first."""
        ...

    async def history(self, thread: Thread, before: Message, limit: int) -> tuple[Turn, ...]:
        """Return the last turns of a thread before a message, oldest first."""
        ...

    async def stage(self, interaction_id: InteractionId, stage: Stage) -> None:
        """Append a progress row ``(interaction_id, sequence, stage)``."""
        ...

    async def stages(self, interaction_id: InteractionId, after: int = 0) -> Sequence[Stage]:
        """Return the progress rows after a sequence number (from 1), in order."""
        ...

    async def rate(self, feedback: Feedback) -> None:
        """Keep one feedback per person and interaction; a later one replaces it."""
        ...

    async def unrate(self, interaction_id: InteractionId, person_id: str) -> None: ...

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]: ...
