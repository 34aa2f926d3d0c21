"""The bot is added or removed, a channel is closed: where it can write is known from then on."""

from __future__ import annotations

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.home.changes import Change, change_of, place_of
from bot.adapters.teams.home.onlookers import Onlookers
from bot.adapters.teams.home.places import Places
from bot.adapters.teams.home.presence import Presence
from bot.adapters.teams.wire.body import Body, conversation_of, is_private, person_of, text_at
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import StoreUnavailable

_LEFT: dict[Change, str] = {
    "removed": "The bot was removed.",
    "closed": "The channel or the team was closed.",
}


class Lifecycle:
    """Implements Registers: all that arrives, for what it says of where it comes from.

    It takes nothing: who says hello is told of the same.
    """

    def __init__(
        self, places: Places, presence: Presence, onlookers: Onlookers, errands: BackgroundTasks
    ) -> None:
        self._places = places
        self._presence = presence
        self._onlookers = onlookers
        self._errands = errands

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_every(self._note)

    async def _note(self, body: Body) -> None:
        """Keep what is new; what is known is not written again. Raises StoreUnavailable."""
        try:
            await self._noted(body)
        except StoreUnavailable:
            # Teams sends an activity again; a press it doesn't, and who pressed is told in words.
            if text_at(body, "type") != "invoke":
                raise

    async def _noted(self, body: Body) -> None:
        change, conversation = change_of(body), conversation_of(body)
        if not conversation:
            return
        if change in _LEFT:
            await self._left(body, _LEFT[change])
            return
        if change is None:
            await self._presence.back(conversation)
            # Whoever asks waits for the acknowledgement, not for this: it comes with each activity.
            self._errands.run(self._places.note(body), what="place noted")
        else:
            await self._presence.added(place_of(body))
            await self._places.note(body, anew=change == "added")
        await self._onlookers.note(body)

    async def _left(self, body: Body, why: str) -> None:
        await self._presence.gone(place_of(body), why)
        if is_private(body) and person_of(body).id:
            await self._places.forget_chat(person_of(body).id)
