"""What a platform is asked for, to show a run."""

from __future__ import annotations

from typing import Protocol

from bot.errors import DeliveryFailed
from bot.orders.following.notes import RunShown
from bot.orders.told import RunTold


class NotTaken(DeliveryFailed):
    """The platform certainly did nothing; it may do it later."""


class Screen(Protocol):
    """Where messages of runs can be shown. A place is a platform's own name, opaque to others.

    Everything that is awaited raises bot.errors.DeliveryFailed: DeliveryRefused where this run
    can't be shown in its place, NotTaken where it may later.
    """

    async def place_of(self, shown: RunShown) -> str:
        """Return where a run is to be shown: where it was ordered, or to who ordered it alone."""
        ...

    async def direct(self, shown: RunShown) -> str:
        """Return the conversation with who ordered."""
        ...

    def is_alone(self, place: str) -> bool:
        """Tell whether nobody but who ordered reads what is shown in a place."""
        ...

    async def post(self, shown: RunShown, told: RunTold) -> str:
        """Post a run's message in its place; return its id."""
        ...

    async def find(self, shown: RunShown, besides: str) -> str | None:
        """Return the id of a run's message that may have been posted, "" where none is seen.

        None: the platform can't be asked. ``besides`` is the id of one that is of no use any more.
        """
        ...

    async def edit(self, shown: RunShown, told: RunTold) -> None:
        """Change a run's message."""
        ...
