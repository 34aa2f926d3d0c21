"""Whether people can be asked in a channel."""

from __future__ import annotations

from bot.adapters.teams.home.onlookers import Onlookers
from bot.adapters.teams.home.places import Places
from bot.adapters.teams.wire.reference import ROOM_ID
from bot.domain.errors import DeliveryRefused

NOT_A_CHANNEL = (
    "This is no channel. Paste what Copy link in the channel's menu gives, or its id, which begins "
    "with 19:"
)
NOT_THERE = "I'm not in that channel. Add me to its team first, or choose another."
OTHERS_READ = (
    "Not only colleagues read that channel. Choose one that only they are in, for it is shown what "
    "people ask, in their own words."
)


class PeopleRooms:
    """Asks Teams about channels. Raises bot.domain.errors.DeliveryFailed, StoreUnavailable."""

    def __init__(self, places: Places, onlookers: Onlookers) -> None:
        self._places = places
        self._onlookers = onlookers

    async def trouble(self, channel: str) -> str:
        """Return why people can't be asked in a channel, "" if they can."""
        if not ROOM_ID.fullmatch(channel):
            return NOT_A_CHANNEL
        try:
            outside = await self._onlookers.outside(await self._places.channel(channel))
        except DeliveryRefused:
            return NOT_THERE
        return OTHERS_READ if outside else ""
