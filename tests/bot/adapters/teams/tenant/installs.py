"""The app is added and removed; people come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.bot.adapters.teams.tenant import turns
from tests.bot.adapters.teams.tenant.conversations import Conversation, personal, place_of
from tests.bot.adapters.teams.tenant.people import Human
from tests.bot.adapters.teams.tenant.state import Tenant

Json = dict[str, Any]


def install(teams: Tenant, human: Human, where: str) -> Sequence[Json]:
    """Add the app; return what Teams tells it, in the order of Teams."""
    there = _place(teams, human, where)
    for each in _together(teams, there):
        each.has_bot, each.refuses = True, ""
    added = [teams.bot(), *([human.account()] if there.kind == "personal" else [])]
    return (
        turns.joined(teams, human, there, "membersAdded", added),
        turns.installed(teams, human, there, "add"),
    )


def uninstall(teams: Tenant, human: Human, where: str) -> Sequence[Json]:
    """Remove the app; from a personal chat Teams tells that by installationUpdate only."""
    there = _place(teams, human, where)
    for each in _together(teams, there):
        each.has_bot = False
    removed = turns.installed(teams, human, there, "remove")
    if there.kind == "personal":
        return (removed,)
    return (removed, turns.joined(teams, human, there, "membersRemoved", [teams.bot()]))


def comes(teams: Tenant, human: Human, where: str) -> Json:
    there = _place(teams, human, where)
    for each in _together(teams, there):
        each.members.add(human.id)
    return turns.joined(teams, human, there, "membersAdded", [_named(human)])


def goes(teams: Tenant, human: Human, where: str) -> Json:
    there = _place(teams, human, where)
    for each in _together(teams, there):
        each.members.discard(human.id)
    return turns.joined(teams, human, there, "membersRemoved", [_named(human)])


def _place(teams: Tenant, human: Human, where: str) -> Conversation:
    """Return a chat, or of a team its channel General: that is where Teams tells of teams."""
    if where not in teams.conversations and where == personal(human.id).id:
        teams.conversations[where] = personal(human.id)
    there = teams.conversations[place_of(where)]
    return teams.conversations.get(there.team, there)


def _together(teams: Tenant, there: Conversation) -> list[Conversation]:
    """Return what the app is added to, and removed from, at once."""
    if there.kind != "channel":
        return [there]
    return [each for each in teams.conversations.values() if each.team == there.team]


def _named(human: Human) -> Json:
    """Teams tells no name of who comes or goes."""
    return {"id": human.user, "aadObjectId": human.id}
