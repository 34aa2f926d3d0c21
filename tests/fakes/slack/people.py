"""People and rooms of the workspace, and the scopes with which an app may see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableSet, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.slack import names


@dataclass
class Member:
    """A person or bot that the workspace knows."""

    id: str
    name: str
    real_name: str
    email: str | None = None
    team_id: str = names.TEAM
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_bot: bool = False
    is_stranger: bool = False
    deleted: bool = False

    def told(self, *, with_email: bool) -> dict[str, Any]:
        """Return it as users.info tells of it."""
        profile = {"real_name": self.real_name, "display_name": self.name, "team": self.team_id}
        if self.email and with_email and not self.is_stranger:
            profile["email"] = self.email
        return {
            "id": self.id,
            "team_id": self.team_id,
            "name": self.name,
            "real_name": self.real_name,
            "deleted": self.deleted,
            "is_bot": self.is_bot,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": self.is_ultra_restricted,
            "is_stranger": self.is_stranger,
            "profile": profile,
        }


@dataclass
class Room:
    """A channel, or a direct conversation of one person with the bot."""

    id: str
    name: str = ""
    is_private: bool = False
    is_im: bool = False
    is_ext_shared: bool = False
    is_archived: bool = False
    members: set[str] = field(default_factory=set)

    @property
    def kind(self) -> str:
        """Return the channel_type of its messages."""
        if self.is_im:
            return "im"
        return "group" if self.is_private else "channel"

    @property
    def scopes(self) -> str:
        """Return the prefix of the scopes that speak of it: channels:read, im:history."""
        return {"im": "im", "group": "groups", "channel": "channels"}[self.kind]

    def told(self) -> dict[str, Any]:
        """Return it as conversations.info tells of it."""
        shown = {
            "id": self.id,
            "is_im": self.is_im,
            "is_mpim": False,
            "is_private": self.is_private or self.is_im,
            "is_archived": self.is_archived,
            "is_ext_shared": self.is_ext_shared,
            "is_shared": self.is_ext_shared,
        }
        if self.is_im:
            person = next(iter(self.members - {names.BOT_USER}), "")
            return {**shown, "user": person, "is_open": True}
        # A private channel of today is a channel that is private, not a group.
        member = names.BOT_USER in self.members
        return {
            **shown,
            "name": self.name,
            "is_channel": True,
            "is_group": False,
            "is_member": member,
        }


class Rooms(dict[str, Room]):
    """The rooms by id; asked for one that it does not know by a set, it makes it."""

    def made(self, channel: str) -> Room:
        """Return a room, made when there is none."""
        if channel not in self:
            private = channel.startswith("G")
            self[channel] = Room(
                channel, channel.lower(), is_im=channel[:1] == "D", is_private=private
            )
        return self[channel]


class Joined(MutableSet[str]):
    """The rooms that the bot is in, as a set of ids that can be changed."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    def __contains__(self, channel: object) -> bool:
        room = self._rooms.get(str(channel))
        return room is not None and names.BOT_USER in room.members

    def __iter__(self) -> Iterator[str]:
        return iter([key for key in self._rooms if key in self])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def add(self, value: str) -> None:
        self._rooms.made(value).members.add(names.BOT_USER)

    def discard(self, value: str) -> None:
        self._rooms.made(value).members.discard(names.BOT_USER)


class Archived(MutableSet[str]):
    """The rooms that are archived, as a set of ids that can be changed."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    def __contains__(self, channel: object) -> bool:
        room = self._rooms.get(str(channel))
        return room is not None and room.is_archived

    def __iter__(self) -> Iterator[str]:
        return iter([key for key in self._rooms if key in self])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def add(self, value: str) -> None:
        self._rooms.made(value).is_archived = True

    def discard(self, value: str) -> None:
        self._rooms.made(value).is_archived = False


def everybody() -> dict[str, Member]:
    """Return those who are there from the start."""
    return _by_id(
        Member(names.ALICE, "alice", "Alice Adams", "alice@acme.example"),
        Member(names.BOB, "bob", "Bob Brown", "bob@acme.example"),
        Member(names.ANNA, "anna", "Anna Lopez", "anna@acme.example"),
        Member(names.GUEST, "guest", "Gil Guest", "gil@elsewhere.example", is_restricted=True),
        Member(
            names.STRANGER,
            "olga",
            "Olga Other",
            "olga@other.example",
            team_id=names.OTHER_TEAM,
            is_stranger=True,
        ),
        Member(names.BOT_USER, "frontdesk", "Frontdesk", is_bot=True),
        Member(names.OTHER_BOT, "buildbot", "Buildbot", is_bot=True),
    )


def everywhere() -> Rooms:
    """Return the rooms that are there from the start; the bot is in all but ELSEWHERE."""
    ours = {names.ALICE, names.BOB, names.ANNA, names.OTHER_BOT}
    bot = {names.BOT_USER}
    rooms = (
        Room(names.HELP, "help", members=ours | bot | {names.GUEST}),
        Room(names.PEOPLE, "people", members=ours | bot),
        Room(names.SECRET_ROOM, "secret", is_private=True, members={names.ALICE} | bot),
        Room(names.SHARED, "shared", is_ext_shared=True, members=ours | bot | {names.STRANGER}),
        Room(names.ELSEWHERE, "elsewhere", members=set(ours)),
        Room(names.DIRECT, is_im=True, members={names.ALICE} | bot),
    )
    return Rooms({room.id: room for room in rooms})


def _by_id(*members: Member) -> dict[str, Member]:
    return {member.id: member for member in members}


def joined(values: Iterable[str], rooms: Rooms) -> None:
    """Let the bot be in these rooms and in no other."""
    wanted = set(values)
    for channel in {*rooms, *wanted}:
        (Joined(rooms).add if channel in wanted else Joined(rooms).discard)(channel)


INSTALLED = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "usergroups:read",
    "users:read",
    "users:read.email",
)

_ANY_OF = {
    "agents.sessions.setStatus": ("chat:write",),
    "chat.postMessage": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.update": ("chat:write",),
    "chat.delete": ("chat:write",),
    "assistant.threads.setStatus": ("assistant:write", "chat:write"),
    "assistant.threads.setSuggestedPrompts": ("assistant:write",),
    "users.info": ("users:read",),
    "users.list": ("users:read",),
    "users.lookupByEmail": ("users:read.email",),
    "usergroups.list": ("usergroups:read",),
    "usergroups.users.list": ("usergroups:read",),
    "conversations.open": ("im:write",),
    "reactions.add": ("reactions:write",),
    "reactions.remove": ("reactions:write",),
}
_BY_ROOM = {
    "conversations.info": "read",
    "conversations.members": "read",
    "conversations.replies": "history",
    "conversations.history": "history",
}


def missing(
    method: str, arguments: Mapping[str, Any], rooms: Mapping[str, Room], held: Sequence[str]
) -> str:
    """Return the scope that a call lacks, "" when it lacks none."""
    needed = _ANY_OF.get(method, ())
    if method in _BY_ROOM:
        room = rooms.get(str(arguments.get("channel", "")))
        needed = (f"{room.scopes}:{_BY_ROOM[method]}",) if room else ()
    return "" if not needed or any(scope in held for scope in needed) else ",".join(needed)
