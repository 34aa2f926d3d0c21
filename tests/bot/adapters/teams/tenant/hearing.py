"""Which messages Teams lets the bot know of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.bot.adapters.teams.tenant.conversations import place_of
from tests.bot.adapters.teams.tenant.state import Tenant


def hears(teams: Tenant, activity: Mapping[str, Any]) -> bool:
    """Tell whether the bot is there, and asked: alone with somebody, mentioned, or permitted."""
    there = teams.conversations[place_of(activity["conversation"]["id"])]
    asked = there.kind == "personal" or teams.hears_all or mentions(activity)
    return there.has_bot and asked


def mentions(activity: Mapping[str, Any]) -> bool:
    return any(entity["type"] == "mention" for entity in activity["entities"])
