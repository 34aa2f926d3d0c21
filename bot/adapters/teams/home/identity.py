"""Who people in Teams are, as Teams vouches for it now: asked, and kept for ten minutes."""

from __future__ import annotations

import json
from dataclasses import replace

from bot.adapters.teams.calling.errors import Gone
from bot.adapters.teams.home.members import Home, Member, member_of, unknown
from bot.adapters.teams.home.onlookers import Onlookers
from bot.adapters.teams.home.roster import Roster
from bot.adapters.teams.wire.body import object_at, person_of
from bot.adapters.teams.wire.reference import elsewhere, read_reference, room_in, user_in
from bot.domain.concurrency import TtlCache
from bot.domain.settings import Settings
from bot.domain.types import Introduction, Message, Person

_KEPT_SECONDS = 600.0
_MOST = 1_000


class Colleagues:
    """Tells colleagues from everybody else.

    People are asked for by a reference that they are the user of, in its conversation. Raises
    bot.domain.errors.DeliveryFailed while Teams doesn't tell; then nobody is a colleague.
    """

    def __init__(self, roster: Roster, home: Home) -> None:
        self._roster = roster
        self._home = home
        self._members = TtlCache(self._asked, seconds=_KEPT_SECONDS, most=_MOST)

    async def of(self, reply_to: str) -> Member | None:
        """Return a colleague, None for guests, strangers and whom nobody knows."""
        member = await self.member(reply_to)
        return member if member.colleague else None

    async def member(self, reply_to: str) -> Member:
        """Return what is known of the user of a reference, whoever they are."""
        person = _person_in(reply_to)
        if not user_in(reply_to):
            return unknown(person)
        member = await self._members.get(_asking(reply_to))
        if member.person.id.lower() != person.id.lower():
            return unknown(person)
        return replace(member, person=replace(member.person, id=person.id))

    async def _asked(self, asking: str) -> Member:
        where, user_id = json.loads(asking)
        try:
            told = await self._roster.one(where, user_id)
        except Gone:
            return unknown(Person(user_id))
        return member_of(told, self._home)


def home_of(settings: Settings) -> Home:
    """Return where colleagues are."""
    domains = (each.lower().removeprefix("@") for each in settings.teams_allowed_domains)
    tenant = settings.microsoft_app_tenant_id or "" if settings.microsoft_app_id else None
    return Home(tenant, frozenset(domains))


class Introducer:
    """Implements bot.domain.capabilities.Introduces, for whom colleagues and conversations are asked."""

    def __init__(self, colleagues: Colleagues, onlookers: Onlookers) -> None:
        self._colleagues = colleagues
        self._onlookers = onlookers

    async def introduce(self, message: Message) -> Introduction:
        """Tell who asks, and whether people of other organisations ask or read along."""
        member = await self._colleagues.member(message.reply_to)
        shared = not message.private and await self._onlookers.outside(message.reply_to)
        return Introduction(member.person, outsiders=shared or not member.colleague)


def _person_in(reply_to: str) -> Person:
    """Return the user of a reference, named as who sends an activity."""
    return person_of({"from": object_at(read_reference(reply_to), "user")})


def _asking(reply_to: str) -> str:
    """Return what is asked, the same for all that somebody writes in a conversation."""
    return json.dumps([elsewhere(reply_to, room_in(reply_to)), user_in(reply_to)])
