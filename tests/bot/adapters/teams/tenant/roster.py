"""Who is where, as the connector tells."""

from __future__ import annotations

from typing import Any

from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.answers import Refused
from tests.bot.adapters.teams.tenant.conversations import Conversation, place_of
from tests.bot.adapters.teams.tenant.people import Human
from tests.bot.adapters.teams.tenant.state import Tenant

_MOST = 500


def member(teams: Tenant, conversation: str, user: str) -> dict[str, Any]:
    """Return one member, by the connector's id or the object id."""
    there = entered(teams, conversation)
    human = teams.human(user)
    if human is None or human.id not in there.members:
        raise Refused("MemberNotFoundInConversation", "Member not found.")
    return _told(teams, human)


def members(teams: Tenant, conversation: str) -> list[dict[str, Any]]:
    there = entered(teams, conversation)
    return [_told(teams, human) for human in _sorted(teams, there)]


def paged(teams: Tenant, conversation: str, size: int, token: str) -> dict[str, Any]:
    """Return a page of members, and how to ask for the next."""
    everyone = members(teams, conversation)
    begin = int(token) if token.isdigit() else 0
    end = begin + min(size or _MOST, teams.page_size)
    more = {"continuationToken": str(end)} if end < len(everyone) else {}
    return {"members": everyone[begin:end], **more}


def team(teams: Tenant, name: str) -> dict[str, Any]:
    channels = _channels(teams, name)
    return {
        "id": name,
        "name": "Contoso IT",
        "aadGroupId": names.TEAM_GROUP,
        "tenantId": names.ENTRA,
        "channelCount": len(channels),
        "memberCount": len(set().union(*(each.members for each in channels))),
    }


def channels_of(teams: Tenant, name: str) -> dict[str, Any]:
    """Return a team's channels; General has no name there."""
    told = [
        {"id": each.id, **({} if each.id == name else {"name": each.name})}
        for each in _channels(teams, name)
    ]
    return {"conversations": told}


def entered(teams: Tenant, conversation: str) -> Conversation:
    """Return a place that the bot is in. Raises Refused."""
    there = teams.conversations.get(place_of(conversation))
    if there is None:
        raise Refused("ConversationNotFound", "Conversation not found.")
    if not there.has_bot:
        raise Refused(
            "BotNotInConversationRoster", "The bot is not part of the conversation roster."
        )
    return there


def _channels(teams: Tenant, name: str) -> list[Conversation]:
    found = [each for each in teams.conversations.values() if each.team == name and each.has_bot]
    if not found:
        raise Refused("TeamNotFound", "Team not found.")
    return found


def _sorted(teams: Tenant, there: Conversation) -> list[Human]:
    return [human for human in teams.people.values() if human.id in there.members]


def _told(teams: Tenant, human: Human) -> dict[str, Any]:
    """The playground spells it its own way."""
    told = human.told()
    if teams.playground:
        told["userPrincipleName"] = told.pop("userPrincipalName")
    return told
