"""What is said of the spaces, and to whom."""

from __future__ import annotations

import pytest

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.names import GUESTS, HELP, SHARED
from tests.bot.adapters.teams.visitor import Visitor


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("where", [GUESTS, SHARED])
async def test_spaces_are_not_named_where_outsiders_read_along(
    teams: FakeTeams, alice: Visitor, where: str
) -> None:
    await alice.say(where, "status")

    (told,) = teams.posts_in(where)
    assert "IT: 1 page" not in told.shown
    assert "in a chat with me alone" in told.shown


async def test_colleagues_among_themselves_are_told_them(teams: FakeTeams, alice: Visitor) -> None:
    await alice.say(HELP, "status")

    (told,) = teams.posts_in(HELP)
    assert "IT: 1 page" in told.shown
