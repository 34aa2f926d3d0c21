"""Query the members of a conversation, who of them is a colleague, and outside readers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Outsider, Person
from bot.domain.ports import Notes
from bot.platforms.teams.client.connector import Connector, ConnectorCall
from bot.platforms.teams.payloads.activity import (
    Body,
    conversation_of,
    display_name,
    objects_at,
    text_at,
)
from bot.platforms.teams.payloads.references import conversation_in, reference_to, room_in
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


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a conversation. A colleague's ``person`` has an address and principals.

    ``colleague``: a full member of the home tenant, with a user principal name of an allowed domain
    if domains are set. For everybody else ``person.outsider`` says why not; a guest was invited
    from outside, or is in a meeting without an account.
    """

    person: Person
    colleague: bool = False


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


PAGE_SIZE = 500
"""Members per page; Teams returns at most as many, and sometimes fewer."""

_PATIENCE_SECONDS = 2.0
LOOKUP_SECONDS = 5.0
"""Timeout of a lookup while a person waits; an asker not identified by then gets no answer."""


@dataclass(frozen=True, slots=True)
class RosterPage:
    """A page of members; ``onwards`` is the token of the next page, "" after the last."""

    people: Sequence[Body]
    onwards: str = ""


class Roster:
    """Queries members, with a timeout. Raises DeliveryFailed, Gone for an unknown one."""

    def __init__(self, connector: Connector, *, seconds: float = LOOKUP_SECONDS) -> None:
        self._connector = connector
        self.seconds = seconds

    async def one(self, reply_to: str, user_id: str) -> Body:
        """Return the member with a connector id (29:…) in the conversation of a reference."""
        there = room_in(reply_to)

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            return await conversations.get_conversation_member(there, user_id)

        return _member_body(await self._asked(reply_to, act))

    async def page(self, reply_to: str, onwards: str = "", *, size: int = PAGE_SIZE) -> RosterPage:
        """Return a page of the members of a reference's conversation."""
        there = room_in(reply_to)

        async def act(conversations: Any) -> Any:  # noqa: ANN401  # botbuilder has no types
            return await conversations.get_conversation_paged_members(there, size, onwards or None)

        answer = await self._asked(reply_to, act)
        people = [_member_body(each) for each in getattr(answer, "members", None) or ()]
        return RosterPage(people, str(getattr(answer, "continuation_token", None) or ""))

    async def _asked(self, reply_to: str, act: ConnectorCall) -> Any:  # noqa: ANN401  # botbuilder has no types
        try:
            async with asyncio.timeout(self.seconds):
                return await self._connector.call(reply_to, act, patience_seconds=_PATIENCE_SECONDS)
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not say in time who is there.") from error


def _member_body(account: Any) -> Body:  # noqa: ANN401  # botbuilder has no types
    """Return a member's JSON; botbuilder puts fields it does not define in a separate dict."""
    extra: Mapping[str, object] = getattr(account, "additional_properties", None) or {}
    known = {"id": "id", "name": "name", "aadObjectId": "aad_object_id"}
    return {**extra, **{key: getattr(account, field, None) for key, field in known.items()}}


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

    def __init__(self, roster: Roster, home: HomeTenant, notes: Notes, *, tenant: str) -> None:
        self._roster = roster
        self._home = home
        self._notes = notes
        self._tenant = tenant
        self._shared = TtlCache(self._noted, seconds=_ANSWER_SECONDS, most=_MOST_ANSWERS)
        self._open = TtlCache(self._is_open, seconds=_ANSWER_SECONDS, most=_MOST_ANSWERS)

    async def note(self, body: Body) -> None:
        """Store from an activity that its channel is shared, for all processes.

        Raises StoreUnavailable.
        """
        if objects_at(body, "membersAdded"):
            # A new team member is reported in the channel General only, but joins all channels.
            self._open.forget()
        room = _shared_room(body, self._home)
        if room and not await self._shared.get(room):
            await self._notes.put(self._tenant, _shared_key(room), "shared")
            self._shared.put(room, value=True)

    async def outside(self, reply_to: str) -> bool:
        """Return whether outsiders read the conversation of a reference.

        Raises DeliveryFailed while Teams fails, StoreUnavailable.
        """
        room = room_in(reply_to)
        if await self._shared.get(room):
            return True
        return await self._open.get(reference_to(reply_to, room))

    async def _noted(self, room: str) -> bool:
        return await self._notes.get(self._tenant, _shared_key(room)) is not None

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
            people = [
                each for each in page.people if not text_at(each, "id").startswith(_BOT_PREFIX)
            ]
            seen = seen or bool(people)
            if not all(member_of(each, self._home).colleague for each in people):
                return True
            onwards = page.onwards
            if not onwards:
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


def _shared_key(room: str) -> str:
    return f"teams:shared:{room}"
