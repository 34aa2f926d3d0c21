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
    """Tells the one who waits what is being done; never raises."""

    async def __call__(self, stage: Stage, pages: int = 0, /) -> None:
        """Note a stage; ``pages`` is how many are read, 0 where that is not known."""
        ...


class Inbox(Protocol):
    """Where adapters put messages; accepting twice is the same as once.

    ``accept`` raises InboxFull or InboxUnavailable; the adapter must then
    not acknowledge. It raises bot.domain.errors.RateExceeded for what is not kept by intent.
    """

    async def accept(self, message: Message) -> InteractionId:
        """Keep the message and start its work; both before returning."""
        ...

    async def amend(self, message: Message) -> None:
        """Replace the text of a message that is not answered yet; and its files, if it has any."""
        ...

    async def cancel(self, interaction_id: InteractionId) -> None:
        """Stop the work on a message; its reply and stored text go."""
        ...

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        """Wait for what becomes of a message. Raises bot.domain.errors.InteractionUnknown."""
        ...


class Channel(Protocol):
    """A platform that a reply can be posted on; rendering only, no decisions.

    Raises bot.domain.errors.DeliveryFailed, and DeliveryRefused where trying again is in vain.
    """

    @property
    def platform(self) -> Platform: ...

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Show what is being done, as far as the platform can."""
        ...

    async def deliver(self, delivery: Delivery) -> PostedRef:
        """Post the outcome where the message came from, into the placeholder if there is one.

        After DeliveryRefused nothing says any more that the message is worked on.
        """
        ...

    async def find(self, delivery: Delivery) -> PostedRef | None:
        """Look up what an earlier attempt posted, by whichever process; None when nothing is there.

        A platform that can't be asked returns None; it should open placeholders.
        """
        ...


@runtime_checkable
class OpensPlaceholders(Protocol):
    """Optional capability of a channel: one message that progress and reply are edited into.

    It makes a repeated delivery harmless on a platform that cannot be asked what was posted: at
    worst a placeholder is left over when the process dies before it is recorded.
    """

    def has_placeholder(self, message: Message) -> bool:
        """Tell whether there may be one where a message was asked; elsewhere none is opened."""
        ...

    async def open_placeholder(self, message: Message, *, needed: bool = False) -> PostedRef | None:
        """Post the placeholder; None where it turns out that there is none. Raises DeliveryFailed.

        ``needed``: the reply waits for it. Otherwise it may be left out where it is too much.
        """
        ...

    async def close_placeholder(self, message: Message, placeholder: PostedRef) -> None:
        """Remove it: no reply will take its place. Raises DeliveryFailed."""
        ...


@runtime_checkable
class Withdraws(Protocol):
    """Optional capability of a channel: take back what was posted."""

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        """Remove the reply to a message, every part of it; what is gone already is no error.

        ``posted`` is what is recorded of it: placeholder and reply. Raises DeliveryFailed.
        """
        ...


class Admits(Protocol):
    """Builds the inquiry: history, who asks, who will read the reply, the channel's policy."""

    async def admit(self, message: Message) -> Inquiry | Refusal:
        """Return the inquiry, or why the message is not worked on now."""
        ...


class AnswersInquiries(Protocol):
    """The desk, as the inbox and the command line see it."""

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome: ...


class Directory(Protocol):
    """Who is this, and what may they read."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        """Return the person's principals; ``everyone`` alone when nothing is known."""
        ...


class StillReadable(Protocol):
    """A last look at pages, where they come from, just before they are quoted or named."""

    async def still(
        self, tenant: str, chunks: Sequence[Chunk], readers: frozenset[Principal]
    ) -> frozenset[str]:
        """Return the ids of the chunks whose page one with these principals may read now.

        Never raises: what can't be told in a few seconds is left out. Chunks of sources that
        can't be asked are in it.
        """
        ...


class Policies(Protocol):
    """Policies of channels (``platform:channel``). Raises StoreUnavailable."""

    async def of(self, tenant: str, channel: str) -> Policy | None:
        """Return a channel's policy; None if none is set."""
        ...

    async def set(self, tenant: str, channel: str, allowed: Policy, *, actor: str) -> None:
        """Set a channel's policy, with an audit entry; ``actor`` is as in Audits."""
        ...


class Notes(Protocol):
    """What an adapter has to remember for all processes: small texts by key, its platform first.

    A note with an ``interaction_id`` goes with that interaction. Raises StoreUnavailable.
    """

    async def get(self, tenant: str, key: str) -> str | None: ...

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        """Keep a text in place of the key's earlier one."""
        ...

    async def first(
        self, tenant: str, key: str, text: str = "", *, interaction_id: InteractionId | None = None
    ) -> bool:
        """Keep a text unless the key has one; tell whether it had none."""
        ...

    async def remove(self, tenant: str, key: str) -> None: ...

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:
        """Return the notes whose keys begin so, in the order of their keys."""
        ...


class Worklist(Protocol):
    """What is to be done, and which process does it. Every write is idempotent by its key.

    Raises bot.domain.errors.StoreUnavailable when the record cannot be reached.
    """

    async def open(self, message: Message, owner: str) -> Interaction:
        """Record a message unless it is there already; return what is recorded.

        A new one is claimed by ``owner``, the process that keeps it.
        """
        ...

    async def claim(self, interaction_id: InteractionId, owner: str) -> Interaction | None:
        """Claim unfinished work; None when there is none, or another living process has it.

        The returned interaction carries the claim.
        """
        ...

    async def behind(self, interaction: Interaction) -> bool:
        """Tell whether an earlier message of the same thread is still to be answered.

        One whose reply a platform has not taken for a minute is waited for no longer.
        """
        ...

    async def close(
        self, interaction: Interaction, outcome: Outcome, *, last: bool, posting: bool = True
    ) -> bool:
        """Record the outcome, its public text as a turn, what it cost, and what goes to people.

        Return False, and record nothing, when the question was edited since ``interaction`` was
        read, unless it is the ``last`` try. The reply may then be posted, under the same claim and
        no other; where it has to wait for its turn first, ``posting`` is False, and is noted when
        that has come. Raises ClaimLost.
        """
        ...

    async def posting(self, interaction: Interaction) -> None:
        """Note, before it is done, that the reply is posted under this claim. Raises ClaimLost."""
        ...

    async def posted(self, interaction_id: InteractionId, ref: PostedRef) -> Interaction:
        """Note where the reply is; return what is recorded, for it may be withdrawn by now."""
        ...

    async def unposted(self, interaction: Interaction) -> None:
        """Count an attempt to post whose end was seen, and was a failure. Raises ClaimLost."""
        ...

    async def placeholder(self, interaction: Interaction, ref: PostedRef | None) -> None:
        """Note the placeholder of a message; an empty ``id`` says that it is being posted.

        None: there is none after all. Raises ClaimLost.
        """
        ...

    async def fail(self, interaction: Interaction, why: str) -> None:
        """Give up posting, or taking back; ``why`` is for the operator. Raises ClaimLost.

        A question whose answer is not shown goes to people (bot.domain.outcomes.goes_to_people).
        """
        ...

    async def amend(self, message: Message) -> bool:
        """Replace the text, and files by files, while no outcome is there; return whether.

        Only whoever asked a question changes it.
        """
        ...

    async def cancel(self, interaction_id: InteractionId) -> Interaction:
        """Forget the texts and end every claim; what was posted is still to be withdrawn.

        Raises InteractionUnknown.
        """
        ...

    async def cancelled(self, interaction_id: InteractionId) -> None:
        """Note that nothing of a withdrawn question is left on the platform."""
        ...

    async def unfinished(self, owner: str | None = None) -> Sequence[Unfinished]:
        """Return what is not answered, not posted or not withdrawn yet, oldest first.

        What a living process other than ``owner`` has is left out.
        """
        ...

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def stage(self, interaction_id: InteractionId, *activities: Activity) -> None:
        """Append progress rows ``(interaction_id, sequence, stage, pages)``, in one transaction."""
        ...


class Audits(Protocol):
    """What admins did. Raises bot.domain.errors.StoreUnavailable."""

    async def append(
        self, tenant: str, actor: str, act: str, subject: str, *, detail: str = ""
    ) -> None:
        """Keep an act (32 characters at most) of ``actor``, such as ``cli:NAME``."""
        ...


class Interactions(Protocol):
    """The record of what was asked and answered, as adapters read and judge it.

    Raises bot.domain.errors.StoreUnavailable when the record cannot be reached.
    """

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...

    async def find_posted(self, tenant: str, ref: PostedRef) -> Interaction | None:
        """Return the interaction whose reply was posted there."""
        ...

    async def newest_of(
        self, tenant: str, platform: Platform, channel: str, person_id: str
    ) -> Interaction | None:
        """Return what a person asked last in a channel, of what has an outcome."""
        ...

    async def in_thread(self, thread: Thread, limit: int) -> Sequence[Interaction]:
        """Return the last interactions of a thread, oldest first; withdrawn ones left out."""
        ...

    async def history(self, thread: Thread, before: Message, limit: int) -> Sequence[Interaction]:
        """Return the last exchanges that a thread saw before a message, oldest first.

        What is withdrawn, not answered yet, or was only recorded, is left out.
        """
        ...

    async def stages(self, interaction_id: InteractionId, after: int = 0) -> Sequence[Activity]:
        """Return the progress rows after a sequence number (from 1), in order."""
        ...

    async def rate(self, feedback: Feedback) -> None:
        """Keep one feedback per person and interaction; a later one replaces it."""
        ...

    async def unrate(self, interaction_id: InteractionId, person_id: str) -> None: ...

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]: ...
