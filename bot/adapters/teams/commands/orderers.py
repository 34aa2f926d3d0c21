"""Who orders something in Teams: colleagues, and nobody else."""

from __future__ import annotations

from collections.abc import Iterable

from bot.adapters.teams.home.identity import Colleagues
from bot.adapters.teams.wire.body import is_private
from bot.adapters.teams.wire.reference import read_reference
from bot.chat.commands.executor import parse_admins
from bot.chat.commands.types import CommandCaller, CommandSyntax

OUTSIDERS = "Only colleagues can do this."
SPELLING = CommandSyntax(alone=" in a chat with me alone")


class Orderers:
    """Asks Teams who somebody is. Raises bot.domain.errors.DeliveryFailed while it can't."""

    def __init__(self, colleagues: Colleagues, admins: Iterable[str]) -> None:
        self._colleagues = colleagues
        self._admins = parse_admins(admins, setting="TEAMS_ADMINS", is_group=lambda _: False)

    async def of(self, reply_to: str, *, alone: bool | None = None) -> CommandCaller | None:
        """Return who orders: the user of a reference. None for guests and strangers.

        ``alone``: nobody else will read the answer; as the conversation is, if not said.
        """
        member = await self._colleagues.of(reply_to)
        if member is None:
            return None
        unseen = is_private(read_reference(reply_to)) if alone is None else alone
        return CommandCaller(member.person, "teams", self._admins, SPELLING, alone=unseen)
