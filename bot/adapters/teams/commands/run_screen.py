"""Where messages of runs can be shown in Teams: the thread of the order, or a personal chat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from bot.adapters.teams.calling.connector import Connector
from bot.adapters.teams.calling.errors import Busy
from bot.adapters.teams.commands.run_card import run_message
from bot.adapters.teams.home.places import Places
from bot.adapters.teams.wire.body import Json, is_private, text_at
from bot.adapters.teams.wire.reference import read_reference, room_in, user_in
from bot.chat.commands.run_leases import RunLease
from bot.chat.commands.run_message import NotTaken
from bot.chat.commands.run_status import RunStatus
from bot.domain.capabilities import Introduces
from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.types import Message, Person, Thread


class RunScreen:
    """Implements bot.chat.commands.run_message.Screen: a place is a ``reply_to``.

    Teams can't be asked what was posted.
    """

    def __init__(
        self, connector: Connector, places: Places, people: Introduces, *, tenant: str
    ) -> None:
        self._connector = connector
        self._places = places
        self._people = people
        self._tenant = tenant

    async def place_of(self, shown: RunLease) -> str:
        """Return where it was ordered, unless others than colleagues may read that."""
        if self.is_alone(shown.channel) or await self._is_ours(shown):
            return shown.channel
        return await self.direct(shown)

    async def direct(self, shown: RunLease) -> str:
        """Return the personal chat with who ordered."""
        return await self._places.open_chat(shown.user, user_id=user_in(shown.channel))

    def is_alone(self, place: str) -> bool:
        """Tell whether a place is a personal chat."""
        return is_private(read_reference(place))

    async def post(self, shown: RunLease, told: RunStatus) -> str:
        """Post a run's message; return its id."""
        with _nothing_done():
            posted = await self._connector.send(shown.place, self._message(shown, told))
        if not posted:
            raise DeliveryFailed("Teams did not say where the run's message is.")
        return posted

    async def find(self, shown: RunLease, besides: str) -> str | None:  # noqa: ARG002 - the port's
        """Return None: Teams can't be asked."""
        return None

    async def edit(self, shown: RunLease, told: RunStatus) -> None:
        """Change a run's message."""
        with _nothing_done():
            await self._connector.update(shown.place, shown.posted, self._message(shown, told))

    def _message(self, shown: RunLease, told: RunStatus) -> Json:
        name = text_at(read_reference(shown.channel), "user", "name")
        return run_message(told, name=name, alone=self.is_alone(shown.place))

    async def _is_ours(self, shown: RunLease) -> bool:
        """Tell whether nobody but colleagues is known to read along where it was ordered."""
        asked = Message(
            id="",
            thread=Thread("teams", self._tenant, room_in(shown.channel), ""),
            author=Person(shown.user),
            text="",
            received_at=datetime.now(UTC),
            reply_to=shown.channel,
        )
        try:
            return not (await self._people.introduce(asked)).outsiders
        except DeliveryRefused:
            return False


@contextmanager
def _nothing_done() -> Iterator[None]:
    """Say so of what Teams certainly did not do."""
    try:
        yield
    except Busy as error:
        raise NotTaken(str(error), retry_after_seconds=error.retry_after_seconds) from error
