"""Protocols for what the bot needs from outside: inbox, channels, directory, policies, record.

A channel may have optional capabilities; bot.escalations.ports has those for escalations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from bot.domain.health import ComponentStatus
from bot.domain.interactions import Delivery, Feedback, Interaction, Outcome, PostedRef
from bot.domain.messages import (
    Activity,
    Attachment,
    Inquiry,
    InteractionId,
    Introduction,
    Message,
    Person,
    Platform,
    Policy,
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

    async def cancel(self, interaction_id: InteractionId, *, keep_acts: bool = False) -> None:
        """Stop processing a message; delete its stored text, and remove its reply.

        ``keep_acts``: what experts did about its case is kept, without words.
        """
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


@runtime_checkable
class CorrectsReplies(Protocol):
    """Optional capability of a channel: edit a posted reply, or tell its asker privately."""

    @property
    def platform(self) -> Platform: ...

    async def correct(self, delivery: Delivery, posted: PostedRef) -> None:
        """Edit a posted reply into the outcome of a delivery; repeating it does no harm.

        Raises DeliveryFailed; DeliveryRefused where the reply can't be edited, or not any more.
        """
        ...

    async def note(self, message: Message, text: str) -> None:
        """Tell the asker alone a line of plain text about a question. Raises DeliveryFailed."""
        ...


@runtime_checkable
class TakesTurns(Protocol):
    """Optional capability of a channel: post the replies to one place in the order of questions."""

    def turn(self, message: Message) -> AbstractAsyncContextManager[None]:
        """Wait until the reply to ``message`` is next, and hold the turn inside the block.

        There is no limit on the wait: the delivery timeout starts after it.
        """
        ...


@runtime_checkable
class Introduces(Protocol):
    """Optional capability of a channel: look up more about a person than the event contains."""

    async def introduce(self, message: Message) -> Introduction:
        """Return the verified author, and whether outsiders read along, as of now.

        Raises DeliveryFailed while the platform can't be asked; the asker then gets only the rights
        of ``everyone``.
        """
        ...


@runtime_checkable
class Fetches(Protocol):
    """Optional capability of a channel: download files attached to a message."""

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file's bytes. Raises DeliveryFailed, also for a file above ``most`` bytes."""
        ...


@runtime_checkable
class TellsState(Protocol):
    """Optional capability of a channel: report the health that its client notices by itself."""

    def part(self) -> ComponentStatus:
        """Return the current status, under the name used at startup; makes no request."""
        ...


@runtime_checkable
class KnowsPublicChannels(Protocol):
    """Tell whether every colleague can read a conversation.

    Teams does not implement it: a standard channel is read by its team's members, and which teams
    everybody may join is told only to apps with rights over all groups (Graph's Group.Read.All).
    """

    async def is_public(self, message: Message) -> bool:
        """Return whether every colleague, and nobody from outside, can read a message's thread.

        False for private conversations. Raises bot.domain.errors.DeliveryFailed while the platform
        can't be asked.
        """
        ...


@runtime_checkable
class TellsPeople(Protocol):
    """Optional capability of a channel: announce in the channel of those who answer escalations."""

    @property
    def platform(self) -> Platform: ...

    async def tell_people(self, text: str) -> None:
        """Post a line of plain text with no live markup; do nothing without a configured channel.

        Raises DeliveryFailed.
        """
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


SEEN_COMMANDS = "slack:words:"
"""Key prefix of notes that a command was seen in a message; they are kept for a day."""


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
