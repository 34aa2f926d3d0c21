"""Identify people in Teams: askers, experts who answer, and senders of commands.

Identities come from Teams' members API, cached for ten minutes. Only colleagues may act on cases
and give commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from bot.chat.actions import COLLEAGUES_ONLY, ActionRejected
from bot.chat.commands.executor import parse_admins
from bot.chat.commands.types import CommandCaller, CommandSyntax
from bot.domain.cases import Actor, expert_of
from bot.domain.concurrency import TtlCache
from bot.domain.messages import Introduction, Message, Person
from bot.domain.settings import Settings
from bot.platforms.teams.client.errors import Gone
from bot.platforms.teams.payloads.actions import Press
from bot.platforms.teams.payloads.activity import is_private, object_at, person_of
from bot.platforms.teams.payloads.references import (
    read_reference,
    reference_of,
    reference_to,
    room_in,
    user_in,
)
from bot.platforms.teams.tenant.members import (
    HomeTenant,
    Member,
    OutsideReaders,
    Roster,
    member_of,
    unknown_member,
)

_KEPT_SECONDS = 600.0
_MOST = 1_000


class Colleagues:
    """Identifies colleagues among all users.

    A person is looked up as the user of a reference, in its conversation. Raises
    bot.domain.errors.DeliveryFailed while Teams fails; nobody is then treated as a colleague.
    """

    def __init__(self, roster: Roster, home: HomeTenant) -> None:
        self._roster = roster
        self._home = home
        self._members = TtlCache(self._asked, seconds=_KEPT_SECONDS, most=_MOST)

    async def of(self, reply_to: str) -> Member | None:
        """Return the colleague; None for guests, outsiders and unknown people."""
        member = await self.member(reply_to)
        return member if member.colleague else None

    async def member(self, reply_to: str) -> Member:
        """Return the user of a reference as a member, colleague or not."""
        person = _person_in(reply_to)
        if not user_in(reply_to):
            return unknown_member(person)
        member = await self._members.get(_member_key(reply_to))
        if member.person.id.lower() != person.id.lower():
            return unknown_member(person)
        return replace(member, person=replace(member.person, id=person.id))

    async def _asked(self, asking: str) -> Member:
        where, user_id = json.loads(asking)
        try:
            told = await self._roster.one(where, user_id)
        except Gone:
            return unknown_member(Person(user_id))
        return member_of(told, self._home)


def home_tenant_of(settings: Settings) -> HomeTenant:
    """Return the tenant and domains of colleagues."""
    domains = (each.lower().removeprefix("@") for each in settings.teams_allowed_domains)
    tenant = settings.microsoft_app_tenant_id or "" if settings.microsoft_app_id else None
    return HomeTenant(tenant, frozenset(domains))


class Introducer:
    """Identifies askers and outside readers. Implements `Introduces`."""

    def __init__(self, colleagues: Colleagues, onlookers: OutsideReaders) -> None:
        self._colleagues = colleagues
        self._onlookers = onlookers

    async def introduce(self, message: Message) -> Introduction:
        """Return the asker, and whether people of other organisations ask or read along."""
        member = await self._colleagues.member(message.reply_to)
        shared = not message.private and await self._onlookers.outside(message.reply_to)
        return Introduction(member.person, outsiders=shared or not member.colleague)


def _person_in(reply_to: str) -> Person:
    """Return the user of a reference, in the form of an activity's sender."""
    return person_of({"from": object_at(read_reference(reply_to), "user")})


def _member_key(reply_to: str) -> str:
    """Return the cache key of a lookup: a user in a conversation."""
    return json.dumps([reference_to(reply_to, room_in(reply_to)), user_in(reply_to)])


class KnownColleague(Protocol):
    """A colleague: bot.platforms.teams.tenant.members.Member."""

    @property
    def person(self) -> Person: ...


class KnowsColleagues(Protocol):
    """Distinguishes colleagues from guests, bots and people of other organisations: Colleagues."""

    async def of(self, reply_to: str) -> KnownColleague | None:
        """Return the user of a reference; None if not a colleague. Raises DeliveryFailed."""
        ...


class Experts:
    """Returns colleagues with the same identity as on Slack, the web and the board."""

    def __init__(self, colleagues: KnowsColleagues) -> None:
        self._colleagues = colleagues

    async def actor(self, press: Press) -> Actor:
        """Return the presser. Raises ActionRejected if not a colleague, DeliveryFailed."""
        known = await self._colleagues.of(reference_of(press.body))
        if known is None:
            raise ActionRejected(COLLEAGUES_ONLY)
        return expert_of("teams", known.person)


NOT_FOR_OUTSIDERS = "Only colleagues can do this."
COMMAND_SPELLING = CommandSyntax(alone=" in a chat with me alone")


class CommandSenders:
    """Identifies callers of commands. Raises bot.domain.errors.DeliveryFailed if Teams fails."""

    def __init__(self, colleagues: Colleagues, admins: Iterable[str]) -> None:
        self._colleagues = colleagues
        self._admins = parse_admins(admins, setting="TEAMS_ADMINS", is_group=lambda _: False)

    async def of(self, reply_to: str, *, alone: bool | None = None) -> CommandCaller | None:
        """Return the caller, the user of a reference; None for guests and outsiders.

        ``alone``: nobody else will read the reply; None derives it from the conversation.
        """
        member = await self._colleagues.of(reply_to)
        if member is None:
            return None
        unseen = is_private(read_reference(reply_to)) if alone is None else alone
        return CommandCaller(member.person, "teams", self._admins, COMMAND_SPELLING, alone=unseen)
