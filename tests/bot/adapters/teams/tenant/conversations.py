"""Where people and the bot can talk."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.bot.adapters.teams.tenant import names

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


def everywhere() -> dict[str, Conversation]:
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
        *(personal(who) for who in (names.ALICE, names.BOB, names.ANNA, names.GUEST)),
    ]
    return {each.id: each for each in (*team, *chats)}


def personal(object_id: str) -> Conversation:
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
