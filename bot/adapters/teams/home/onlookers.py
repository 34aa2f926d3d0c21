"""Whether people from outside read along in a chat or channel."""

from __future__ import annotations

import asyncio

import structlog

from bot.adapters.teams.home.members import Home, member_of
from bot.adapters.teams.home.roster import Roster
from bot.adapters.teams.wire.body import Body, conversation_of, objects_at, text_at
from bot.adapters.teams.wire.reference import conversation_in, elsewhere, room_in
from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed
from bot.domain.ports import Notes

_KEPT_SECONDS = 600.0
_MOST = 1_000
_MOST_PAGES = 10
_BOT = "28:"

log = structlog.get_logger(__name__)


class Onlookers:
    """Asks who is there, and remembers which channels are shared.

    Whoever is no colleague is from outside. In a shared channel somebody always is: other teams and
    organisations may join it, and the list of who is there need not name them. So it is where there
    are too many to look at, or nobody is named. The answer is kept for ten minutes, in the process
    that is told of it only until somebody joins.
    """

    def __init__(self, roster: Roster, home: Home, notes: Notes, *, tenant: str) -> None:
        self._roster = roster
        self._home = home
        self._notes = notes
        self._tenant = tenant
        self._shared = TtlCache(self._noted, seconds=_KEPT_SECONDS, most=_MOST)
        self._open = TtlCache(self._is_open, seconds=_KEPT_SECONDS, most=_MOST)

    async def note(self, body: Body) -> None:
        """Keep what an activity says by itself, for all processes. Raises StoreUnavailable."""
        if objects_at(body, "membersAdded"):
            # Whoever joins a team is told of in its channel General, and is in the others, too.
            self._open.forget()
        room = _shared_room(body, self._home)
        if room and not await self._shared.get(room):
            await self._notes.put(self._tenant, _key(room), "shared")
            self._shared.put(room, answer=True)

    async def outside(self, reply_to: str) -> bool:
        """Tell whether somebody from outside reads what is said where a reference leads.

        Raises DeliveryFailed while Teams doesn't tell, StoreUnavailable.
        """
        room = room_in(reply_to)
        if await self._shared.get(room):
            return True
        return await self._open.get(elsewhere(reply_to, room))

    async def _noted(self, room: str) -> bool:
        return await self._notes.get(self._tenant, _key(room)) is not None

    async def _is_open(self, where: str) -> bool:
        try:
            async with asyncio.timeout(self._roster.seconds):
                return await self._looked_at(where)
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not say in time who reads along.") from error

    async def _looked_at(self, where: str) -> bool:
        onwards, seen = "", False
        for _ in range(_MOST_PAGES):
            page = await self._roster.page(where, onwards)
            people = [each for each in page.people if not text_at(each, "id").startswith(_BOT)]
            seen = seen or bool(people)
            if not all(member_of(each, self._home).colleague for each in people):
                return True
            onwards = page.onwards
            if not onwards:
                return not seen
        log.info("teams.too_many_to_look_at", conversation=conversation_in(where))
        return True


def _shared_room(body: Body, home: Home) -> str:
    """Return the channel or chat that an activity shows to be shared, "" for none."""
    channel = text_at(body, "channelData", "channel", "id") or conversation_of(body)
    if text_at(body, "channelData", "channel", "type").lower() == "shared":
        # What happens to a channel is told by way of its team.
        told = text_at(body, "type") == "conversationUpdate"
        return channel if told else conversation_of(body)
    senders = (text_at(body, "from", "tenantId"), text_at(body, "conversation", "tenantId"))
    foreign = home.tenant and any(each and each.lower() != home.tenant.lower() for each in senders)
    return conversation_of(body) if foreign else ""


def _key(room: str) -> str:
    return f"teams:shared:{room}"
