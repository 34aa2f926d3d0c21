"""Optional abilities of a channel, as Protocols that a platform may implement.

bot.domain.ports has two more, OpensPlaceholders and Withdraws; bot.escalations.ports has those
that show and remind of escalations.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from bot.domain.health import ComponentStatus
from bot.domain.messages import Attachment, Introduction, Message, Platform


@runtime_checkable
class TakesTurns(Protocol):
    """Replies to one place are posted one after the other, in the order of their questions."""

    def turn(self, message: Message) -> AbstractAsyncContextManager[None]:
        """Wait until the reply to a message is the next one, and hold the turn in the block.

        However long it takes: the time that a platform has to take a reply begins after it.
        """
        ...


@runtime_checkable
class Introduces(Protocol):
    """The platform knows more of its people than an event says."""

    async def introduce(self, message: Message) -> Introduction:
        """Tell who asks and who reads along, as the platform vouches for it now.

        Raises bot.domain.errors.DeliveryFailed while it can't: then nobody is taken for more than
        everyone.
        """
        ...


@runtime_checkable
class Fetches(Protocol):
    """Files that come with a message can be read."""

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file. Raises DeliveryFailed, also for one above ``most`` bytes."""
        ...


@runtime_checkable
class TellsState(Protocol):
    """The platform notices by itself when it can't be worked with any more, and when it can."""

    def part(self) -> ComponentStatus:
        """Return how it stands, by the name it has at the start; nobody is asked."""
        ...


@runtime_checkable
class TellsPeople(Protocol):
    """The platform has a channel for people, where they can be told what is no question."""

    @property
    def platform(self) -> Platform: ...

    async def tell_people(self, text: str) -> None:
        """Post a line of plain text there, in which nothing is live; nothing without a channel.

        Raises bot.domain.errors.DeliveryFailed.
        """
        ...
