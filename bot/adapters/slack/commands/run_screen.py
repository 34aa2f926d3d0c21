"""Where messages of runs can be shown: the channel of the order, or a direct message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.calling.errors import NotPermitted
from bot.adapters.slack.commands.run_card import run_card
from bot.adapters.slack.home.rooms import Rooms
from bot.adapters.slack.showing.editing import Editor
from bot.adapters.slack.showing.lookup import Lookup
from bot.adapters.slack.showing.posting import Poster
from bot.adapters.slack.showing.render import Forms
from bot.adapters.slack.wire.labels import Label, Place, since
from bot.chat.commands.run_leases import RunLease
from bot.chat.commands.run_status import RunStatus
from bot.domain.capabilities import Introduces
from bot.domain.errors import DeliveryRefused
from bot.domain.types import InteractionId, Message, Person, PostedRef, Thread

_PART = "run"


class RunScreen:
    """Implements bot.chat.commands.run_message.Screen: places are channels, messages their ts.

    What somebody could mend is refused all the same, for a run does not wait for it.
    """

    def __init__(
        self, client: AsyncWebClient, caller: Caller, people: Introduces, *, tenant: str
    ) -> None:
        self._people = people
        self._tenant = tenant
        self._rooms = Rooms(client, caller)
        self._poster = Poster(client, caller)
        self._editor = Editor(client, caller, self._poster)
        self._lookup = Lookup(client, caller)

    async def place_of(self, shown: RunLease) -> str:
        """Return the channel of the order, unless others than colleagues may read it."""
        if self.is_alone(shown.channel) or not await self._is_ours(shown):
            return await self.direct(shown)
        return shown.channel

    async def direct(self, shown: RunLease) -> str:
        """Return the direct conversation with who ordered."""
        with _refusing():
            return await self._rooms.direct(shown.user)

    def is_alone(self, place: str) -> bool:
        """Tell whether a place is a direct conversation."""
        return place.startswith("D")

    async def post(self, shown: RunLease, told: RunStatus) -> str:
        """Post a run's message; return its ts."""
        label = Label(f"reindex:{shown.run_id}", _name(shown), _PART, 1)
        with _refusing():
            return await self._poster.post(_place(shown), self._forms(shown, told), label)

    async def find(self, shown: RunLease, besides: str) -> str:
        """Return the ts of a run's message that may have been posted, "" where none is seen.

        ``besides`` is the ts of one that is of no use any more.
        """
        try:
            found = await self._lookup.search(_place(shown), _name(shown))
        except (NotPermitted, DeliveryRefused):
            return ""
        return next((each.ts for each in found if each.ts != besides), "")

    async def edit(self, shown: RunLease, told: RunStatus) -> None:
        """Change a run's message."""
        with _refusing():
            await self._editor.edit(PostedRef(shown.place, shown.posted), self._forms(shown, told))

    def _forms(self, shown: RunLease, told: RunStatus) -> Forms:
        return run_card(told, user=shown.user, alone=self.is_alone(shown.place))

    async def _is_ours(self, shown: RunLease) -> bool:
        """Tell whether a channel is known to be this workspace's alone."""
        thread = Thread("slack", self._tenant, shown.channel, "")
        asked = Message("", thread, Person(shown.user), "", received_at=datetime.now(UTC))
        try:
            return not (await self._people.introduce(asked)).outsiders
        except (NotPermitted, DeliveryRefused):
            return False


@contextmanager
def _refusing() -> Iterator[None]:
    """Let what is not permitted be refused."""
    try:
        yield
    except NotPermitted as error:
        raise DeliveryRefused(str(error)) from error


def _place(shown: RunLease) -> Place:
    ordered_at = datetime.fromtimestamp(shown.ordered_at, UTC)
    return Place(shown.place, None, since=since(ordered_at))


def _name(shown: RunLease) -> InteractionId:
    """Return what the message is found by: no interaction is called like a run."""
    return InteractionId(f"reindex:{shown.run_id}")
