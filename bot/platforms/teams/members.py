"""Identify people in Teams: askers, colleagues who act on cases or give commands, outside readers.

Identities come from Teams' members API, cached for ten minutes. Only colleagues may act on cases
and give commands.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace

import structlog

from bot.chat.actions import Member
from bot.chat.commands.types import CommandSyntax
from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Outsider, Person
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.errors import Gone
from bot.platforms.teams.payloads.activity import (
    Body,
    channel_in,
    conversation_in,
    conversation_of,
    display_name,
    object_at,
    objects_at,
    person_of,
    read_reference,
    reference_to,
    text_at,
    user_in,
)
from rag.personal_data.names import DirectoryNames
from rag.types import EVERYONE, Principal

_GUEST_ROLES = frozenset({"guest", "anonymous"})
_EXTERNAL_MARK = "#ext#"


@dataclass(frozen=True, slots=True)
class HomeTenant:
    """Defines colleagues: an Entra tenant, and domains of user principal names.

    ``tenant`` None is for development: everybody in the playground is a colleague.
    """

    tenant: str | None
    domains: frozenset[str] = frozenset()


def unknown_member(person: Person) -> Member:
    """Return a member for a person whom Teams does not find."""
    return Member(Person(person.id, person.name, outsider="not a colleague"))


def member_of(told: Body, home: HomeTenant) -> Member:
    """Parse a member from the members API.

    ``email`` there is a mail address that anybody can set, so it identifies nobody.
    """
    name = display_name(text_at(told, "name"))
    object_id = text_at(told, "aadObjectId") or text_at(told, "objectId")
    address = _principal_name(told, home)
    full = bool(object_id and address) and not _is_guest(told)
    if not (full and _is_at_home(told, home) and _is_allowed(address, home)):
        known_as = object_id or text_at(told, "id")
        return Member(Person(known_as, name, outsider=_outsider(told, home)))
    # The principals have the same form as those of a web sign-in.
    principals = frozenset({EVERYONE, Principal(f"user:{address}")})
    return Member(Person(object_id, name, address, principals), colleague=True)


def _outsider(told: Body, home: HomeTenant) -> Outsider:
    if _is_guest(told):
        return "guest"
    elsewhere = text_at(told, "tenantId") and not _is_at_home(told, home)
    return "other company" if elsewhere else "not a colleague"


def _is_guest(told: Body) -> bool:
    named = text_at(told, "userPrincipalName").lower()
    return text_at(told, "userRole").lower() in _GUEST_ROLES or _EXTERNAL_MARK in named


def _is_at_home(told: Body, home: HomeTenant) -> bool:
    """Return whether a member is of the home tenant.

    Anonymous people have the organiser's tenant: this alone makes nobody a colleague.
    """
    return home.tenant is None or text_at(told, "tenantId").lower() == home.tenant.lower()


def _is_allowed(address: str, home: HomeTenant) -> bool:
    return not home.domains or address.rpartition("@")[2] in home.domains


def _principal_name(told: Body, home: HomeTenant) -> str:
    """Return the user principal name in lower case; "" if it is invalid."""
    named = text_at(told, "userPrincipalName")
    if home.tenant is None:
        # Microsoft's playground has used this spelling.
        named = named or text_at(told, "userPrincipleName")
    name, _, domain = named.strip().lower().rpartition("@")
    address = f"{name}@{domain}"
    return address if name and domain and not set(address) & set(" \t\r\n") else ""


LOOKUP_SECONDS = 5.0
"""Timeout of a lookup while a person waits; an asker not identified by then gets no answer."""

_ANSWER_SECONDS = 600.0
_MOST_ANSWERS = 1_000
_MOST_PAGES = 10
_BOT_PREFIX = "28:"

log = structlog.get_logger(__name__)


class OutsideReaders:
    """Finds out whether outsiders read a conversation, and stores which channels are shared.

    Everybody who is no colleague is an outsider. A shared channel always has outside readers: other
    teams and organisations may join it, and its member list need not name them. The same is assumed
    if there are too many members to check, or none is listed. The result is cached for ten minutes;
    a process that receives an activity about new members clears its cache at once.
    """

    def __init__(self, client: TeamsClient, home: HomeTenant, notes: Notes, *, tenant: str) -> None:
        self._client = client
        self._home = home
        self._notes = notes
        self._tenant = tenant
        self._shared = TtlCache(self._is_shared_noted, seconds=_ANSWER_SECONDS, most=_MOST_ANSWERS)
        self._open = TtlCache(self._is_open, seconds=_ANSWER_SECONDS, most=_MOST_ANSWERS)
        self.names: DirectoryNames | None = None

    async def note(self, body: Body) -> None:
        """Store from an activity that its channel is shared, for all processes.

        Raises StoreUnavailable.
        """
        if objects_at(body, "membersAdded"):
            # A new team member is reported in the channel General only, but joins all channels.
            self._open.forget()
        channel = _shared_room(body, self._home)
        if channel and not await self._shared.get(channel):
            await self._notes.put(self._tenant, _shared_key(channel), "shared")
            self._shared.put(channel, value=True)

    async def outside(self, reply_to: str) -> bool:
        """Return whether outsiders read the conversation of a reference.

        Raises DeliveryFailed while Teams fails, StoreUnavailable.
        """
        channel = channel_in(reply_to)
        if await self._shared.get(channel):
            return True
        return await self._open.get(reference_to(reply_to, channel))

    async def _is_shared_noted(self, channel: str) -> bool:
        return await self._notes.get(self._tenant, _shared_key(channel)) is not None

    async def _is_open(self, where: str) -> bool:
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await self._has_outsiders(where)
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not say in time who reads along.") from error

    async def _has_outsiders(self, where: str) -> bool:
        next_page, seen = "", False
        for _ in range(_MOST_PAGES):
            page = await self._client.members(where, next_page)
            people = [
                each for each in page.members if not text_at(each, "id").startswith(_BOT_PREFIX)
            ]
            seen = seen or bool(people)
            if self.names is not None:
                self.names.learn(display_name(text_at(each, "name")) for each in people)
            if not all(member_of(each, self._home).colleague for each in people):
                return True
            next_page = page.next_page
            if not next_page:
                return not seen
        log.info("teams.too_many_to_look_at", conversation=conversation_in(where))
        return True


def _shared_room(body: Body, home: HomeTenant) -> str:
    """Return the channel or chat that an activity proves to be shared; "" for none."""
    channel = text_at(body, "channelData", "channel", "id") or conversation_of(body)
    if text_at(body, "channelData", "channel", "type").lower() == "shared":
        # Changes of a channel are reported through its team.
        told = text_at(body, "type") == "conversationUpdate"
        return channel if told else conversation_of(body)
    senders = (text_at(body, "from", "tenantId"), text_at(body, "conversation", "tenantId"))
    foreign = home.tenant and any(each and each.lower() != home.tenant.lower() for each in senders)
    return conversation_of(body) if foreign else ""


def _shared_key(channel: str) -> str:
    return f"teams:shared:{channel}"


_KEPT_SECONDS = 600.0
_MOST = 1_000


class Colleagues:
    """Identifies colleagues among all users.

    A person is looked up as the user of a reference, in its conversation. Raises
    bot.domain.errors.DeliveryFailed while Teams fails; nobody is then treated as a colleague.
    """

    def __init__(
        self, client: TeamsClient, home: HomeTenant, *, timeout_seconds: float = LOOKUP_SECONDS
    ) -> None:
        self._client = client
        self._home = home
        self._timeout_seconds = timeout_seconds
        self._members = TtlCache(self._look_up, seconds=_KEPT_SECONDS, most=_MOST)
        self.names: DirectoryNames | None = None

    async def of(self, reply_to: str) -> Person | None:
        """Return the colleague; None for guests, outsiders and unknown people."""
        member = await self.member(reply_to)
        return member.person if member.colleague else None

    async def member(self, reply_to: str) -> Member:
        """Return the user of a reference as a member, colleague or not."""
        person = person_of({"from": object_at(read_reference(reply_to), "user")})
        if not user_in(reply_to):
            return unknown_member(person)
        where = reference_to(reply_to, channel_in(reply_to))
        member = await self._members.get(json.dumps([where, user_in(reply_to)]))
        if member.person.id.lower() != person.id.lower():
            return unknown_member(person)
        return replace(member, person=replace(member.person, id=person.id))

    async def in_channel(self, channel: str, named: str) -> Person | None:
        """Return the one colleague of a channel's members with a name or address; None otherwise.

        ``channel`` is a reference to it; its first 5,000 members are looked at.
        """
        wanted, page, found = named.casefold(), "", list[Person]()
        for _ in range(_MOST_PAGES):
            members = await self._client.members(channel, page)
            people = (member_of(each, self._home) for each in members.members)
            found += (
                each.person
                for each in people
                if each.colleague
                and wanted in {each.person.name.casefold(), (each.person.email or "").casefold()}
            )
            page = members.next_page
            if not page:
                break
        return found[0] if len(found) == 1 else None

    async def sees(self, reference: str, channel: str) -> bool:
        """Return whether the user of a reference is a colleague and a member of a channel."""
        there = json.dumps(
            {
                **read_reference(reference_to(reference, channel)),
                "user": object_at(read_reference(reference), "user"),
            }
        )
        return await self.of(there) is not None

    async def _look_up(self, key: str) -> Member:
        where, user_id = json.loads(key)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                member = member_of(await self._client.member(where, user_id), self._home)
        except Gone:
            return unknown_member(Person(user_id))
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not say in time who is there.") from error
        if self.names is not None:
            self.names.learn([member.person.name])
        return member


def home_tenant_of(settings: Settings) -> HomeTenant:
    """Return the tenant and domains of colleagues."""
    domains = (each.lower().removeprefix("@") for each in settings.teams_allowed_domains)
    tenant = settings.microsoft_app_tenant_id or "" if settings.microsoft_app_id else None
    return HomeTenant(tenant, frozenset(domains))


COMMAND_SPELLING = CommandSyntax(alone=" in a chat with me alone")
