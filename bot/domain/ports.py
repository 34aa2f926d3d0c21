"""Protocols for what the bot needs from outside: inbox, channels, directory, policies, record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from bot.domain.interactions import Delivery, Feedback, Interaction, Outcome, PostedRef, Unfinished
from bot.domain.messages import (
    Activity,
    Inquiry,
    InteractionId,
    Message,
    Person,
    Platform,
    Policy,
    Refusal,
    Stage,
    Thread,
)
from rag.types import Chunk, Principal


class ReportStage(Protocol):
    """Reports the current processing stage to the asker; never raises."""

    async def __call__(self, stage: Stage, pages: int = 0, /) -> None:
        """Report a stage; ``pages`` is the number of pages being read, 0 if unknown."""
        ...


class Inbox(Protocol):
    """Accepts messages from adapters; accepting one twice is the same as once.

    ``accept`` raises InboxFull or InboxUnavailable; the adapter must then not acknowledge the
    message. It raises RateExceeded for a message that is dropped on purpose.
    """

    async def accept(self, message: Message) -> InteractionId:
        """Store the message and start its processing; both before returning."""
        ...

    async def amend(self, message: Message) -> None:
        """Replace the text of an unanswered message; also its files, if the new one has any."""
        ...

    async def cancel(self, interaction_id: InteractionId) -> None:
        """Stop processing a message; delete its stored text, and remove its reply."""
        ...

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        """Wait for the outcome of a message. Raises bot.domain.errors.InteractionUnknown."""
        ...


class Channel(Protocol):
    """Posts replies on a platform; renders only, decides nothing.

    Raises bot.domain.errors.DeliveryFailed; DeliveryRefused if a retry can't succeed.
    """

    @property
    def platform(self) -> Platform: ...

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Show the processing stage, as far as the platform can."""
        ...

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post the outcome where the message came from, into the placeholder if there is one.

        After DeliveryRefused no progress is shown any more.
        """
        ...

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Return what an earlier attempt of any process posted; None if nothing is found.

        A platform that can't be searched returns None; it should open placeholders.
        """
        ...


@runtime_checkable
class OpensPlaceholders(Protocol):
    """Optional capability of a channel: one message that progress and reply are edited into.

    It makes a repeated delivery harmless on a platform that can't be searched: at worst a
    placeholder is left over if the process dies before it is recorded.
    """

    def has_placeholder(self, message: Message) -> bool:
        """Return whether a placeholder may be posted where a message was asked."""
        ...

    async def open_placeholder(self, message: Message, *, needed: bool = False) -> PostedRef | None:
        """Post the placeholder; None if none can be posted there. Raises DeliveryFailed.

        ``needed``: the reply waits for it. Otherwise the channel may leave it out.
        """
        ...

    async def close_placeholder(self, message: Message, placeholder: PostedRef) -> None:
        """Remove the placeholder: no reply will replace it. Raises DeliveryFailed."""
        ...


@runtime_checkable
class Withdraws(Protocol):
    """Optional capability of a channel: remove posted messages."""

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Remove every part of the reply to a message; a part already removed is no error.

        ``posted`` are the recorded parts: placeholder and reply. Raises DeliveryFailed.
        """
        ...


class Admits(Protocol):
    """Builds the inquiry: history, asker, readers of the reply, the channel's policy."""

    async def admit(self, message: Message) -> Inquiry | Refusal:
        """Return the inquiry, or a refusal with its reason."""
        ...


class AnswersInquiries(Protocol):
    """Answers inquiries: the desk."""

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome: ...


class Directory(Protocol):
    """Resolves a person to the principals that decide what they may read."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        """Return the person's principals; ``everyone`` alone if nothing else is known."""
        ...


class RechecksPermissions(Protocol):
    """Check the permissions of pages at their source, just before they are quoted or named."""

    async def readable_chunk_ids(
        self, tenant: str, chunks: Sequence[Chunk], readers: frozenset[Principal]
    ) -> frozenset[str]:
        """Return the ids of the chunks whose page these principals may read now.

        Never raises: chunks not checked within a few seconds are left out. Chunks of sources that
        offer no check are included.
        """
        ...


class Policies(Protocol):
    """Policies of channels (``platform:channel``). Raises StoreUnavailable."""

    async def of(self, tenant: str, channel: str) -> Policy | None:
        """Return a channel's policy; None if none is set."""
        ...

    async def set(
        self,
        tenant: str,
        channel: str,
        allowed: Policy,
        *,
        actor: str,
        instead_of: Policy | None = None,
    ) -> bool:
        """Set a channel's policy, with an audit entry; ``actor`` is as in Audits.

        Return False, with nothing set, if another policy holds than ``instead_of``. None: any.
        """
        ...


class Notes(Protocol):
    """Key-value store of short texts for adapters, shared by all processes.

    A key begins with the platform. A note with an ``interaction_id`` is deleted with that
    interaction. Raises StoreUnavailable.
    """

    async def get(self, tenant: str, key: str) -> str | None: ...

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        """Store a text, replacing the key's earlier one."""
        ...

    async def first(
        self, tenant: str, key: str, text: str = "", *, interaction_id: InteractionId | None = None
    ) -> bool:
        """Store a text unless the key has one; return whether it had none."""
        ...

    async def remove(self, tenant: str, key: str) -> None: ...

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:
        """Return the notes whose keys have a prefix, ordered by key."""
        ...


class Worklist(Protocol):
    """The interactions to process, with the claims of processes. Every write is idempotent.

    Raises bot.domain.errors.StoreUnavailable.
    """

    async def open(self, message: Message, owner: str) -> Interaction:
        """Record a message unless it is recorded already; return the recorded interaction.

        A new one is claimed by ``owner``, the process that stores it.
        """
        ...

    async def claim(self, interaction_id: InteractionId, owner: str) -> Interaction | None:
        """Claim an unfinished interaction and return it with the claim.

        None if it is finished, or claimed by another live process.
        """
        ...

    async def behind(self, interaction: Interaction) -> bool:
        """Return whether an earlier message of the same thread is unanswered.

        One whose reply a platform has refused for a minute does not count any more.
        """
        ...

    async def close(
        self,
        interaction: Interaction,
        outcome: Outcome,
        *,
        last: bool,
        posting: bool = True,
        stages: Sequence[Activity] = (),
    ) -> bool:
        """Record the outcome with its turn in the conversation, its usage and its escalation.

        ``stages`` are those that were not recorded before; DONE is added.

        Return False, and record nothing, if the question was edited since ``interaction`` was
        read, unless it is the ``last`` try. Otherwise the reply may be posted under the same
        claim. ``posting`` False: it waits for its turn, so its posting has not begun. Raises
        ClaimLost.
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

    async def cancel(self, interaction_id: InteractionId) -> Interaction:
        """Delete the texts and end every claim; posted messages are still to be withdrawn.

        Raises InteractionUnknown.
        """
        ...

    async def cancelled(self, interaction_id: InteractionId) -> None:
        """Record that all messages of a withdrawn question were removed."""
        ...

    async def unfinished(self, owner: str | None = None) -> Sequence[Unfinished]:
        """Return the interactions still to be answered, posted or withdrawn, oldest first.

        Those claimed by a live process other than ``owner`` are left out.
        """
        ...

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def stage(self, interaction_id: InteractionId, *activities: Activity) -> None:
        """Append progress rows ``(interaction_id, sequence, stage, pages)``, in one transaction."""
        ...


class Audits(Protocol):
    """The audit log of admins' acts. Raises bot.domain.errors.StoreUnavailable."""

    async def append(
        self, tenant: str, actor: str, act: str, subject: str, *, detail: str = ""
    ) -> None:
        """Append an act (at most 32 characters) of ``actor``, such as ``cli:NAME``."""
        ...


class Interactions(Protocol):
    """The record of interactions and their feedback. Raises StoreUnavailable."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def find_posted(self, tenant: str, ref: PostedRef) -> Interaction | None:
        """Return the interaction whose reply was posted at ``ref``."""
        ...

    async def newest_of(
        self, tenant: str, platform: Platform, channel: str, person_id: str
    ) -> Interaction | None:
        """Return a person's last interaction in a channel that has an outcome."""
        ...

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first, without withdrawn ones."""
        ...

    async def history(self, thread: Thread, before: Message, limit: int) -> Sequence[Interaction]:
        """Return the last exchanges posted in a thread before a message, oldest first.

        Withdrawn, unanswered and silent ones are left out.
        """
        ...

    async def stages(self, interaction_id: InteractionId, after: int = 0) -> Sequence[Activity]:
        """Return the progress rows after a sequence number (from 1), in order."""
        ...

    async def rate(self, feedback: Feedback) -> None:
        """Store one feedback per person and interaction; a later one replaces it."""
        ...

    async def unrate(self, interaction_id: InteractionId, person_id: str) -> None: ...

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]: ...
