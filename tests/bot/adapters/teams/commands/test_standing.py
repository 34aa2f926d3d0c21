"""What is said of the spaces, and to whom."""

from __future__ import annotations

import pytest

from bot.config import Settings
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.names import GUESTS, HELP, SHARED
from tests.bot.adapters.teams.visitor import Visitor


@pytest.fixture(params=["answer", "off"])
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    return settings.model_copy(update={"teams_outsiders": request.param})


@pytest.mark.parametrize("where", [GUESTS, SHARED])
async def test_outsiders_who_get_no_answers_are_not_told_the_spaces_either(
    teams: FakeTeams, alice: Visitor, settings: Settings, where: str
) -> None:
    await alice.say(where, "status")

    (told,) = teams.posts_in(where)
    named = "IT: 1 page" in told.shown
    assert named is (settings.teams_outsiders == "answer")
    assert ("in a chat with me alone" in told.shown) is not named


async def test_colleagues_among_themselves_are_told_them(teams: FakeTeams, alice: Visitor) -> None:
    await alice.say(HELP, "status")

    (told,) = teams.posts_in(HELP)
    assert "IT: 1 page" in told.shown
