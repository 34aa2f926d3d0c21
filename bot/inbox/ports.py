"""Protocols for what the inbox needs: the work list, the durable engine, admission, replicas."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from bot.domain.health import ComponentStatus
from bot.domain.interactions import Interaction, Outcome, PostedRef, Unfinished
from bot.domain.messages import Activity, Inquiry, InteractionId, Message, Refusal


class Admits(Protocol):
    """Builds the inquiry: history, asker, readers of the reply, the channel's policy."""

    async def admit(self, message: Message) -> Inquiry | Refusal:
        """Return the inquiry, or a refusal with its reason."""
        ...


class Worklist(Protocol):
    """The interactions to process, with the claims of processes. Every write is idempotent.

    Raises bot.domain.errors.StoreUnavailable.
    """

    async def open(self, message: Message, owner: str | None) -> Interaction:
        """Record a message unless it is recorded already; return the recorded interaction.

        A new one is claimed by ``owner``, the process that stores it; None leaves it to others.
        """
        ...

    async def claim(self, interaction_id: InteractionId, owner: str) -> Interaction | None:
        """Claim an unfinished interaction and return it with the claim.

        None if it is finished, or claimed by another live process.
        """
        ...

    async def behind(self, interaction: Interaction) -> bool:
        """Return whether an earlier message of the same thread is unanswered or not posted.

        One whose reply could not be posted for a minute, or was not tried for five, does not count
        any more.
        """
        ...

    async def close(
        self,
        interaction: Interaction,
        outcome: Outcome,
        *,
        last: bool,
        posting: bool = True,
        posted: PostedRef | None = None,
        stages: Sequence[Activity] = (),
    ) -> bool:
        """Record the outcome with its turn in the conversation, its usage and its escalation.

        ``stages`` are those that were not recorded before; DONE is added.

        Return False, and record nothing, if the question was edited since ``interaction`` was
        read, unless it is the ``last`` try. Otherwise the reply may be posted under the same
        claim. ``posting`` False: it waits for its turn, so its posting has not begun. ``posted``:
        the asker fetches it, so that it is where it belongs by being recorded. Raises ClaimLost.
        """
        ...

    async def posting(self, interaction: Interaction) -> None:
        """Record that posting the reply under this claim begins. Raises ClaimLost."""
        ...

    async def posted(self, interaction_id: InteractionId, ref: PostedRef) -> Interaction:
        """Record where the reply is; return the interaction, which may be withdrawn by now."""
        ...

    async def unposted(self, interaction: Interaction) -> None:
        """Count an attempt to post that certainly failed. Raises ClaimLost."""
        ...

    async def placeholder(self, interaction: Interaction, ref: PostedRef | None) -> None:
        """Record the placeholder of a message; an empty ``id`` means that it is being posted.

        None: none was posted after all. Raises ClaimLost.
        """
        ...

    async def fail(self, interaction: Interaction, why: str) -> None:
        """Give up posting or withdrawing; ``why`` is for the operator. Raises ClaimLost.

        A question whose answer can't be posted is escalated (bot.domain.outcomes.goes_to_people).
        """
        ...

    async def amend(self, message: Message) -> bool:
        """Replace text and files of a message without an outcome; return whether it had none.

        Files are kept if the new message has none. Only the asker can change a question.
        """
        ...

    async def cancel(
        self, interaction_id: InteractionId, *, keep_acts: bool = False
    ) -> Interaction:
        """Delete the texts and end every claim; posted messages are still to be withdrawn.

        ``keep_acts``: what experts did about its case is kept, without words. Raises
        InteractionUnknown.
        """
        ...

    async def cancelled(self, interaction_id: InteractionId) -> None:
        """Record that all messages of a withdrawn question were removed."""
        ...

    async def take(self, owner: str, most: int) -> Sequence[Interaction]:
        """Claim messages that nobody has taken yet, so many at most; return them in order.

        Everyone's first goes before anyone's second.
        """
        ...

    async def take_over(self, owner: str, most: int, dead: Sequence[str]) -> Sequence[Unfinished]:
        """Claim unfinished work of dead processes, at most ``most``; return it, oldest first.

        That is of ``dead``, unless their lease is valid again, and of those that were buried;
        without messages that are kept for whoever answers. Nothing is claimed for an owner whose
        own lease has run out.
        """
        ...

    async def unfinished_ids(self, owner: str | None = None) -> frozenset[InteractionId]:
        """Return the ids of unfinished interactions that ``owner`` or no live process has.

        Cheap, however many they are. Without messages that are kept for whoever answers.
        """
        ...

    async def unfinished(self, owner: str | None = None) -> Sequence[Unfinished]:
        """Return the interactions still to be answered, posted or withdrawn, oldest first.

        Those that ``owner`` has claimed; None: those that no live process has.
        """
        ...

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def stage(self, interaction_id: InteractionId, *activities: Activity) -> None:
        """Append progress rows ``(interaction_id, sequence, stage, pages)``, in one transaction."""
        ...


RunWork = Callable[[InteractionId], Coroutine[Any, Any, float | None]]
"""Processes an interaction; returns the seconds until it is to be run again, or None when done."""


class DurableEngine(Protocol):
    """Runs work once for each work id, and knows what a dead process had begun.

    ``begin`` raises bot.domain.errors.InboxUnavailable.
    """

    @property
    def executor(self) -> str:
        """The name of this process among those that share the engine."""
        ...

    async def begin(self, work_id: str, interaction_id: InteractionId) -> None:
        """Persist the work and start it."""
        ...

    async def start(self, run: RunWork) -> None:
        """Start to run what is begun. Raises EngineUnavailable."""
        ...

    async def abandon(self, executors: Sequence[str]) -> frozenset[InteractionId]:
        """Cancel the work that dead processes had begun; return what it was about.

        What is left of it is begun anew by whoever claims it. Repeating the call returns the same.
        Raises EngineUnavailable.
        """
        ...

    async def forget(self) -> None:
        """Delete the records of work that ended long ago."""
        ...

    async def forget_work(self, ids: Sequence[InteractionId]) -> None:
        """Delete the records of ended work on these interactions."""
        ...

    async def stop(self) -> None:
        """Stop without ending work in progress: others, or the next start, take it over."""
        ...


class Replicas(Protocol):
    """The processes that share the store, with their leases. Raises StoreUnavailable."""

    async def prolong(self, replica: str, *, seconds: float) -> None: ...

    async def release(self, replica: str) -> None: ...

    async def alone(self, replica: str) -> None:
        """End the leases of all other processes, which are dead then."""
        ...

    async def dead(self) -> Sequence[str]:
        """Return the processes whose lease has run out."""
        ...

    async def bury(self, replica: str) -> None:
        """Delete a dead process if all of its work is taken over."""
        ...


class Supervises(Protocol):
    """Starts an inbox, sees to what it needs, and stops it."""

    def is_ready(self) -> bool:
        """Return whether the record may be read and written."""
        ...

    def part(self) -> ComponentStatus:
        """Return the inbox's status, for the start-up list and /ready."""
        ...

    async def start(self) -> None:
        """Open the inbox."""
        ...

    async def drain(self) -> None:
        """Accept no more and finish work in progress, while callers are still connected."""
        ...

    async def stop(self) -> None:
        """Finish work in progress, and leave the rest to other processes."""
        ...
