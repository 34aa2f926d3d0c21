"""Test that the same question has the same outcome and the same record on the web and in Teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bot.domain.interactions import Interaction
from bot.domain.settings import Settings
from tests.fakes.http_server import serving_application, settings_for
from tests.fakes.teams.application import UNLIMITED, teams_settings
from tests.fakes.teams.names import HELP
from tests.fakes.teams.people import Human
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor
from tests.sweeps.web_comparison import (
    KINDS,
    ask_on_web,
    check_same,
    index_sample,
    opened,
    questions,
    recorded,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unpaced")]


async def ask_in_teams(
    settings: Settings, teams: FakeTeams, texts: Sequence[str]
) -> Mapping[tuple[bool, str], Interaction]:
    """Ask in a channel and in a chat; return what is recorded, by whether it was private.

    A chat is one conversation, in which questions follow each other: each has an asker of its own.
    """
    async with serving_application(settings) as client, opened(settings) as store:
        for number, text in enumerate(texts):
            who, address = f"asker{number}-object-id", f"asker{number}@acme.example"
            teams.add(Human(who, f"29:asker{number}", f"Asker {number}", address, address), HELP)
            asker = Visitor(teams, client, who)
            await asker.say(HELP, text)
            await asker.say(asker.chat, text)
        kept = await recorded(store, 3 * len(texts))
    in_teams = (each for each in kept if each.message.thread.platform == "teams")
    return {(each.message.private, each.message.text): each for each in in_teams}


async def test_twenty_questions_come_out_the_same_in_teams(
    teams: FakeTeams, tmp_path: Path
) -> None:
    alone = settings_for(tmp_path, **UNLIMITED)
    await index_sample(alone)
    on_web = await ask_on_web(alone, asked := questions())
    in_teams = await ask_in_teams(settings_for(tmp_path, **teams_settings(teams.url)), teams, asked)

    assert len(asked) == sum(KINDS.values())
    for text, web in on_web.items():
        for private in (False, True):
            check_same(in_teams[private, text], web)
