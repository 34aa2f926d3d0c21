"""Optional capabilities of a channel, as Protocols that a platform adapter may implement.

bot.domain.ports defines two more, OpensPlaceholders and Withdraws; bot.escalations.ports defines
those that post escalations and reminders.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from bot.domain.health import ComponentStatus
from bot.domain.messages import Attachment, Introduction, Message, Platform


@runtime_checkable
class TakesTurns(Protocol):
    """Post replies to one place one after the other, in the order of their questions."""

    def turn(self, message: Message) -> AbstractAsyncContextManager[None]:
        """Wait until the reply to ``message`` is next, and hold the turn inside the block.

        There is no limit on the wait: the delivery timeout starts after it.
        """
        ...


@runtime_checkable
class Introduces(Protocol):
    """Look up more about a person than the platform's event contains."""

    async def introduce(self, message: Message) -> Introduction:
        """Return the verified author, and whether outsiders read along, as of now.

        Raises bot.domain.errors.DeliveryFailed while the platform can't be asked; the asker then
        gets only the rights of ``everyone``.
        """
        ...


@runtime_checkable
class Fetches(Protocol):
    """Download files attached to a message."""

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file's bytes. Raises DeliveryFailed, also for a file above ``most`` bytes."""
        ...


@runtime_checkable
class TellsState(Protocol):
    """Report connection health that the platform's client notices by itself."""

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
    """Post announcements in the channel of the people who answer escalations."""

    @property
    def platform(self) -> Platform: ...

    async def tell_people(self, text: str) -> None:
        """Post a line of plain text with no live markup; do nothing without a configured channel.

        Raises bot.domain.errors.DeliveryFailed.
        """
        ...
