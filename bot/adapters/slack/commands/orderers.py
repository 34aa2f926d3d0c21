"""Who orders something on Slack: colleagues, and nobody else."""

from __future__ import annotations

from collections.abc import Iterable

from bot.adapters.slack.commands.commanding import SPELLING
from bot.adapters.slack.home.identity import Colleagues
from bot.chat.commands.executor import parse_admins
from bot.chat.commands.types import CommandCaller

OUTSIDERS = "Only colleagues can do this."


class Orderers:
    """Asks the workspace who somebody is. Raises bot.domain.errors.DeliveryFailed while it can't."""

    def __init__(self, colleagues: Colleagues, admins: Iterable[str]) -> None:
        self._colleagues = colleagues
        self._admins = parse_admins(admins, setting="SLACK_ADMINS", is_group=_is_group)

    async def of(self, user: str) -> CommandCaller | None:
        """Return who orders, None for guests, bots and people of other organisations."""
        member = await self._colleagues.member(user)
        if not member.colleague:
            return None
        return CommandCaller(member.person, "slack", self._admins, SPELLING, self._colleagues)


def _is_group(name: str) -> bool:
    return name.startswith("S")
