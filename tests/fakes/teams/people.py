"""People, chats and channels of the tenant, and how Teams shows them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.teams import names

Kind = Literal["personal", "groupChat", "channel"]
ROOT = ";messageid="


@dataclass
class Conversation:
    """A chat or a channel, without its threads.

    ``members`` are people by object id; ``has_bot`` says that the app is installed. ``refuses``
    is the code of the 403 that everything gets which the bot wants to write there.
    """

    id: str
    kind: Kind
    members: set[str] = field(default_factory=set)
    name: str = ""
    team: str = ""
    channel_type: str = "standard"
    has_bot: bool = True
    refuses: str = ""

    def told(self, thread: str = "") -> dict[str, Any]:
        """Return it as activities name it."""
        told: dict[str, Any] = {
            "id": f"{self.id}{ROOT}{thread}" if thread else self.id,
            "conversationType": self.kind,
            "tenantId": names.ENTRA,
        }
        return told if self.kind == "personal" else {**told, "isGroup": True}

    def channel_data(self) -> dict[str, Any]:
        """Return what Teams adds to activities from there."""
        tenant = {"tenant": {"id": names.ENTRA}}
        if self.kind != "channel":
            return tenant
        return {
            "teamsChannelId": self.id,
            "teamsTeamId": self.team,
            "channel": {"id": self.id, "type": self.channel_type},
            "team": {"id": self.team},
            **tenant,
        }


def all_conversations() -> dict[str, Conversation]:
    """Return the places that are always there, by id.

    Who has added the app has a personal chat with it; Carol has not.
    """
    staff = {names.ALICE, names.BOB, names.ANNA, names.CAROL}
    team = [
        _channel(names.GENERAL, "General", staff),
        _channel(names.HELP, "help", staff),
        _channel(names.PEOPLE, "people", staff),
        _channel(names.GUESTS, "guests", {*staff, names.GUEST}, team=names.GUESTS),
        _channel(names.SHARED, "shared", {*staff, names.STRANGER}, channel_type="shared"),
        _channel(names.ELSEWHERE, "elsewhere", staff, team=names.ELSEWHERE, has_bot=False),
    ]
    chats = [
        Conversation(names.GROUP, "groupChat", {names.ALICE, names.BOB}),
        Conversation(names.OUTSIDE_GROUP, "groupChat", {names.ALICE, names.STRANGER}),
        *(personal_chat(who) for who in (names.ALICE, names.BOB, names.ANNA, names.GUEST)),
    ]
    return {each.id: each for each in (*team, *chats)}


def personal_chat(object_id: str) -> Conversation:
    """Return somebody's personal chat with the bot."""
    return Conversation(chat_of(object_id), "personal", {object_id})


def chat_of(object_id: str) -> str:
    return f"a:{object_id.removesuffix('-object-id')}-and-bot"


def place_of(conversation: str) -> str:
    """Return the chat or channel of a conversation id, without the thread."""
    return conversation.partition(ROOT)[0]


def thread_of(conversation: str) -> str:
    return conversation.partition(ROOT)[2]


def _channel(
    channel: str,
    name: str,
    members: Collection[str],
    *,
    team: str = names.TEAM,
    channel_type: str = "standard",
    has_bot: bool = True,
) -> Conversation:
    return Conversation(
        channel,
        "channel",
        set(members),
        name=name,
        team=team,
        channel_type=channel_type,
        has_bot=has_bot,
    )


@dataclass(frozen=True)
class Human:
    """Somebody. ``id`` is the object id, ``user`` the connector's own id.

    ``address`` is the verified name that they sign in with; ``email`` may be anything.
    """

    id: str
    user: str
    name: str
    address: str
    email: str
    tenant: str = names.ENTRA
    role: str = "user"

    def told(self) -> dict[str, Any]:
        """Return them as a roster does."""
        given, _, family = self.name.partition(" ")
        return {
            "id": self.user,
            "objectId": self.id,
            "aadObjectId": self.id,
            "name": self.name,
            "givenName": given,
            "surname": family,
            "email": self.email,
            "userPrincipalName": self.address,
            "tenantId": self.tenant,
            "userRole": self.role,
        }

    def account(self) -> dict[str, Any]:
        """Return them as activities name a sender."""
        return {"id": self.user, "name": self.name, "aadObjectId": self.id}


def all_people() -> dict[str, Human]:
    """Return the people who are always there, by object id.

    Bob's mail address is not what he signs in with; Carol has not added the app.
    """
    return {
        human.id: human
        for human in (
            _colleague(names.ALICE, "Alice"),
            _colleague(names.BOB, "Bob", email="anna@acme.example"),
            _colleague(names.ANNA, "Anna Lopez"),
            _colleague(names.CAROL, "Carol"),
            Human(
                names.GUEST,
                "29:guest",
                "Gus Guest",
                "gus_partner.example#EXT#@acme.onmicrosoft.com",
                "gus@partner.example",
                role="guest",
            ),
            Human(
                names.STRANGER,
                "29:stranger",
                "Stella Stranger",
                "stella@partner.example",
                "stella@partner.example",
                tenant=names.OTHER_ENTRA,
            ),
        )
    }


def _colleague(object_id: str, name: str, email: str = "") -> Human:
    short = name.partition(" ")[0].lower()
    address = f"{short}@acme.example"
    return Human(object_id, f"29:{short}", name, address, email or address)
